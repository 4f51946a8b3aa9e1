! Ranks save their rows of an array, or restore them on another number of ranks and compare: ranks FOLDER save|restore
program ranks
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use shakedown_checkpoint
  use shakedown_checkpoint_mpi
  implicit none
  integer, parameter :: columns = 4, all_rows = 30
  type(checkpoint_options) :: options
  type(checkpoint_session) :: session
  type(checkpoint_comm) :: comm
  real(real64), allocatable, target :: u(:, :)
  real(real64), allocatable :: expected(:, :)
  integer :: rank, size_, first, last, i, j, error
  character(len=4096) :: folder, what

  call get_command_argument(1, folder)
  call get_command_argument(2, what)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size_)
  first = all_rows * rank / size_
  last = all_rows * (rank + 1) / size_
  allocate (expected(columns, last - first), u(columns, 0:last - first + 1))  ! with a ghost row on either side
  do i = 1, last - first
    do j = 1, columns
      expected(j, i) = 100 * (first + i) + j
    end do
  end do
  u = -1
  if (what == "save") u(:, 1:last - first) = expected

  options%global = trim(folder)
  options%address = "127.0.0.1"
  call comm_of(MPI_COMM_WORLD, comm, error)
  if (error == ckpt_ok) call session%open(options, error, comm)
  if (error == ckpt_ok) call session%protect("u", u, error, global_shape=[columns, all_rows], offset=[0, first], &
    box=[columns, last - first], at=[0, 1])
  if (error == ckpt_ok .and. what == "save") then
    call session%checkpoint(ckpt_global, error)
    if (error == ckpt_ok) call session%wait(error)
  else if (error == ckpt_ok) then
    call session%restore(error)
    if (any(u(:, 1:last - first) /= expected) .or. any(u(:, 0) /= -1) .or. any(u(:, last - first + 1) /= -1)) then
      print "(a, i0)", "wrong on rank ", rank
    end if
  end if
  if (error /= ckpt_ok) print "(a, i0, 2a)", "rank ", rank, ": ", session%message()
  call session%close(error)
  call MPI_Finalize()
  print "(a, i0, a, i0)", trim(what) // "d on rank ", rank, ", error ", error
end program
