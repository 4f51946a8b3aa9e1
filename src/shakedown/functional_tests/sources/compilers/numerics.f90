! The arithmetic of numerics.c in Fortran, and what is Fortran's own: arrays, types with procedures, text, IEEE modules.
module shapes
  implicit none
  type, abstract :: shape
  contains
    procedure(count_corners), deferred :: corners
  end type
  abstract interface
    integer function count_corners(this)
      import :: shape
      class(shape), intent(in) :: this
    end function
  end interface
  type, extends(shape) :: square
  contains
    procedure :: corners => four
  end type
  type, extends(shape) :: triangle
  contains
    procedure :: corners => three
  end type
  type :: holder
    class(shape), allocatable :: held
  end type
contains
  integer function four(this)
    class(square), intent(in) :: this
    four = merge(4, 0, same_type_as(this, this))
  end function
  integer function three(this)
    class(triangle), intent(in) :: this
    three = merge(3, 0, same_type_as(this, this))
  end function
end module

program numerics
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64, compiler_version
  use, intrinsic :: ieee_arithmetic, only: ieee_is_nan
  use shapes
  implicit none
  character(len=:), allocatable :: version
  version = compiler_version()
  print '(a,1x,a)', 'fact_version', version
  call integers()
  call reals()
  call language()
contains
  pure integer(int64) function next(x)
    integer(int64), intent(in) :: x
    next = mod(1103515245_int64 * x + 12345_int64, 2147483648_int64)
  end function

  subroutine say(name, value)
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: value
    print '(a,1x,i0)', name, value
  end subroutine

  subroutine say_bits(name, x)
    character(len=*), intent(in) :: name
    real(real64), intent(in) :: x
    print '(a,1x,z16.16)', name, transfer(x, 0_int64)
  end subroutine

  subroutine integers()
    integer(int64) :: x, word, mixed, count, a(32, 32), b(32, 32), c(32, 32), values(1000), hash, held
    integer(int64), volatile :: minus, by
    integer :: i, j, bit
    x = 1
    do i = 1, 1000
      x = next(x)
    end do
    call say('lcg', x)
    minus = -7
    by = 3
    call say('divide', (minus / by) * 100 + mod(minus, by))
    count = 0
    word = 1
    do i = 1, 100
      word = next(word)
      mixed = iand(ieor(word, ishft(word, -7)), int(z'55555555', int64))
      do bit = 0, 30
        count = count + ibits(mixed, bit, 1)
      end do
    end do
    call say('bits', count)
    do j = 1, 32
      do i = 1, 32
        a(i, j) = i * 3 - j * 2
        b(i, j) = mod(i * j, 17)
      end do
    end do
    c = matmul(a, b)
    call say('matrix', sum([(c(i, i), i=1, 32)]))
    x = 42
    do i = 1, 1000
      x = next(x)
      values(i) = x
    end do
    do i = 2, 1000
      held = values(i)
      j = i - 1
      do while (j >= 1)
        if (values(j) <= held) exit
        values(j + 1) = values(j)
        j = j - 1
      end do
      values(j + 1) = held
    end do
    hash = 0
    do i = 1, 1000
      hash = mod(hash * 31 + values(i), 1000000007_int64)
    end do
    call say('sort', hash)
  end subroutine

  subroutine reals()
    real(real64) :: total_sum, product_of, roots, total, lost, term, next_total
    real(real64), volatile :: tenth, fifth, zero, one, tiny_one
    real(real32) :: short_sum
    integer :: i
    total_sum = 0
    do i = 1, 100000
      total_sum = total_sum + 1.0_real64 / i
    end do
    product_of = 1
    do i = 1, 1000
      product_of = product_of * (1.0_real64 + 1.0_real64 / (real(i, real64) * real(i, real64)))
    end do
    roots = 0
    do i = 1, 1000
      roots = roots + sqrt(real(i, real64))
    end do
    tenth = 0.1_real64
    fifth = 0.2_real64
    zero = 0
    one = 1
    tiny_one = 2.2250738585072014e-308_real64
    total = 0
    lost = 0
    do i = 1, 100000
      term = tenth - lost
      next_total = total + term
      lost = (next_total - total) - term
      total = next_total
    end do
    short_sum = 0
    do i = 1, 10000
      short_sum = short_sum + 1.0_real32 / real(i, real32)
    end do
    call say_bits('sum', total_sum)
    call say_bits('product', product_of)
    call say_bits('roots', roots)
    call say_bits('rounding', tenth + fifth)
    call say_bits('compensated', total)
    print '(a,1x,z8.8)', 'single', transfer(short_sum, 0_int32)
    call say_bits('subnormal', tiny_one / 1024)
    call say_bits('infinity', one / zero)
    print '(a,1x,i0)', 'nan', merge(1, 0, ieee_is_nan(zero / zero))
  end subroutine

  recursive integer function ackermann(m, n) result(value)
    integer, intent(in) :: m, n
    if (m == 0) then
      value = n + 1
    else if (n == 0) then
      value = ackermann(m - 1, 1)
    else
      value = ackermann(m - 1, ackermann(m, n - 1))
    end if
  end function

  subroutine language()
    type(holder) :: all(2)
    character(len=32) :: text
    real(real64), allocatable :: grid(:, :)
    integer :: unit, i, read_back(3)
    allocate (square :: all(1)%held)
    allocate (triangle :: all(2)%held)
    print '(a,1x,i0)', 'dispatch', all(1)%held%corners() * 10 + all(2)%held%corners()
    write (text, '(f8.4,i5.3,l2)') 3.14159_real64, 42, .true.
    print '(a,1x,a)', 'text', '['//trim(text)//']'
    allocate (grid(4, 6))
    grid = reshape([(real(i, real64), i=1, 24)], [4, 6])
    print '(a,1x,i0)', 'arrays', nint(sum(grid(2:4:2, ::3)) * 10 + maxval(sum(grid, dim=1), mask=sum(grid, dim=1) < 60))
    print '(a,1x,i0)', 'recursion', ackermann(2, 5)
    open (newunit=unit, status='scratch', form='unformatted')
    write (unit) [11, 22, 33]
    rewind (unit)
    read (unit) read_back
    close (unit)
    print '(a,1x,i0)', 'unformatted', sum(read_back)
  end subroutine
end program
