"""What is wrong with a trace by itself: stuck, copied, averaged, mis-stamped. Pure."""
