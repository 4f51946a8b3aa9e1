! Fortran, C and C++ in one program: Fortran calls C by its type, C calls C++, C++ calls Fortran back.
module shared
  use, intrinsic :: iso_c_binding
  implicit none
  type, bind(c) :: point
    integer(c_int) :: id
    real(c_double) :: x(3)
    character(kind=c_char) :: tag
  end type
  interface
    integer(c_int) function c_sum(p, n, values, callback) bind(c, name='interop_sum')
      import :: point, c_int, c_double, c_funptr
      type(point), intent(inout) :: p
      integer(c_int), value :: n
      real(c_double), intent(inout) :: values(*)
      type(c_funptr), value :: callback
    end function
    function c_text(name) bind(c, name='interop_text') result(length)
      import :: c_char, c_size_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t) :: length
    end function
  end interface
contains
  integer(c_int) function doubled(x) bind(c)
    integer(c_int), value :: x
    doubled = 2 * x
  end function
end module

program interop
  use shared
  implicit none
  type(point) :: p
  real(c_double) :: values(4)
  integer(c_int) :: answer
  p = point(5, [1.0_c_double, 2.0_c_double, 3.0_c_double], 'q')
  values = [1, 2, 3, 4]
  answer = c_sum(p, 4_c_int, values, c_funloc(doubled))
  print '(a,1x,i0)', 'answer', answer
  print '(a,1x,i0)', 'structure', p%id * 100 + nint(p%x(3))
  print '(a,1x,a)', 'tag', p%tag
  print '(a,1x,i0)', 'array', nint(sum(values))
  print '(a,1x,i0)', 'length', int(c_text('gefunden'//c_null_char))
end program
