! OpenMP in Fortran: a reduction, threads that really ran, atomics, tasks.
module recursion
  implicit none
contains
  recursive function fibonacci(n) result(value)
    integer, intent(in) :: n
    integer :: value, a, b
    if (n < 2) then
      value = n
      return
    end if
    !$omp task shared(a) if(n > 12)
    a = fibonacci(n - 1)
    !$omp end task
    !$omp task shared(b) if(n > 12)
    b = fibonacci(n - 2)
    !$omp end task
    !$omp taskwait
    value = a + b
  end function
end module

program openmp
  use, intrinsic :: iso_fortran_env, only: int64
  use omp_lib
  use recursion
  implicit none
  integer(int64) :: total
  integer :: i, me, seen(0:63), filled(10000), counted, result
  total = 0
  seen = 0
  filled = 0
  counted = 0
  !$omp parallel do reduction(+:total)
  do i = 1, 1000000
    total = total + i
  end do
  !$omp end parallel do
  !$omp parallel num_threads(4) private(me)
  me = omp_get_thread_num()
  if (me < 64) seen(me) = 1
  !$omp do schedule(dynamic, 7)
  do i = 1, 10000
    filled(i) = filled(i) + i
    !$omp atomic
    counted = counted + 1
  end do
  !$omp end do
  !$omp single
  result = fibonacci(20)
  !$omp end single
  !$omp end parallel
  print '(a,1x,i0)', 'omp_sum', total
  print '(a,1x,i0)', 'omp_threads', sum(seen)
  print '(a,1x,i0)', 'omp_atomic', counted
  print '(a,1x,i0)', 'omp_tasks', result
  print '(a,1x,i0)', 'omp_wrong', count(filled /= [(i, i=1, 10000)])
  print '(a,1x,i0)', 'fact_openmp', openmp_version
end program
