! Heat conduction in a plate with cold edges, in Fortran: saved every few steps, and continued where it was killed.
!
!   heat FOLDER ROWS COLUMNS STEPS EVERY     prints where it begins, each checkpoint, and the heat that is left
!
! u(columns, rows) here is u[rows][columns] of the same program in C, C++ and Python.
program heat
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use shakedown_checkpoint
  implicit none
  type(checkpoint_options) :: options
  type(checkpoint_session) :: session
  real(real64), allocatable, target :: u(:, :)
  real(real64), allocatable :: before(:, :)
  integer(int64), target :: step
  integer(int64) :: steps, every
  integer :: rows, columns, i, j, error
  real(real64) :: along, across, total
  character(len=4096) :: folder

  if (command_argument_count() /= 5) then
    write (error_unit, "(a)") "usage: heat FOLDER ROWS COLUMNS STEPS EVERY"
    stop 2, quiet=.true.
  end if
  call get_command_argument(1, folder)
  rows = int(number(2))
  columns = int(number(3))
  steps = number(4)
  every = number(5)
  if (every < 1) stop 2, quiet=.true.
  allocate (u(columns, rows), before(columns, rows))
  u = 0
  do concurrent (i = 1:rows - 2, j = 1:columns - 2)
    u(j + 1, i + 1) = real(mod(i * 7 + j * 3, 11), real64)
  end do
  step = 0

  options%local = trim(folder)
  call session%open(options, error)
  if (error /= ckpt_ok) call give_up("cannot begin")
  call session%protect("step", step, error)
  call session%protect("u", u, error, global_shape=shape(u), offset=[0, 0])
  call session%restore(error)
  if (error /= ckpt_ok .and. error /= ckpt_nothing) call give_up("cannot restore")
  print "(a, i0)", "begins at step ", step
  do while (step < steps)
    before = u
    do i = 2, rows - 1
      do j = 2, columns - 1
        along = (before(j - 1, i) - 2 * before(j, i)) + before(j + 1, i)
        across = (before(j, i - 1) - 2 * before(j, i)) + before(j, i + 1)
        u(j, i) = before(j, i) + 0.125_real64 * (along + across)
      end do
    end do
    step = step + 1
    if (mod(step, every) /= 0) cycle  ! a real run asks session%due, which knows costs and failures
    call session%checkpoint(ckpt_local, error)
    if (error == ckpt_ok) call session%wait(error)  ! it is written meanwhile: waited for only to say whether it was saved
    if (error == ckpt_ok) then
      print "(a, i0)", "saved step ", step
    else
      write (error_unit, "(2a)") "heat: goes on without: ", session%message()
    end if
    flush (6)
  end do
  call session%close(error)
  total = 0
  do i = 1, rows
    do j = 1, columns
      total = total + u(j, i)
    end do
  end do
  print "(a, es24.16e3, a, i0)", "heat ", total, " after step ", step

contains

  integer(int64) function number(position)
    integer, intent(in) :: position
    character(len=32) :: text

    call get_command_argument(position, text)
    read (text, *) number
  end function

  subroutine give_up(what)
    character(len=*), intent(in) :: what

    write (error_unit, "(4a)") "heat: ", what, ": ", session%message()
    stop 3, quiet=.true.
  end subroutine

end program
