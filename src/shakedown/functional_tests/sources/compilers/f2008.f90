! Fortran 2008: do concurrent, submodules, block, bits, norms, contiguous arrays.
module geometry
  implicit none
  interface
    module integer function area(width, height)
      integer, intent(in) :: width, height
    end function
  end interface
end module

submodule (geometry) areas
  implicit none
contains
  module integer function area(width, height)
    integer, intent(in) :: width, height
    area = width * height
  end function
end submodule

program f2008
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use geometry, only: area
  implicit none
  integer(int64) :: squares(1000)
  real(real64) :: v(2)
  integer :: i
  do concurrent (i = 1:1000)
    squares(i) = int(i, int64) * i
  end do
  print '(a,1x,i0)', 'concurrent', sum(squares)
  print '(a,1x,i0)', 'submodule', area(6, 7)
  block
    integer :: i
    i = 99
    print '(a,1x,i0)', 'block', i
  end block
  print '(a,1x,i0)', 'popcnt', popcnt(int(z'55555555', int64)) * 10 + trailz(8)
  v = [3.0_real64, 4.0_real64]
  print '(a,1x,i0)', 'norm', nint(norm2(v))
  print '(a,1x,i0)', 'contiguous', total(squares(1:9:2))
contains
  integer(int64) function total(values)
    integer(int64), contiguous, intent(in) :: values(:)
    total = sum(values)
  end function
end program
