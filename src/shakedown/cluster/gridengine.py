def start(directory, description): raise NotImplementedError
