! A coarray program of Fortran 2008, of one image.
program coarray
  implicit none
  integer :: counter[*], field(3)[*]
  counter = 7
  field = [1, 2, 3]
  sync all
  counter = counter + counter[1]
  field(2) = field(3)[num_images()] + counter
  sync all
  print '(a,1x,i0)', 'images', num_images()
  print '(a,1x,i0)', 'image', this_image()
  print '(a,1x,i0)', 'coarray', counter * 100 + field(2)
end program
