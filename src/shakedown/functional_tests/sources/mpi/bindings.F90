! MPI from Fortran, by one of its three bindings: -DMPIF_H, -DUSE_MPI or -DUSE_MPI_F08. The checks are those of bindings.c.
#if defined(USE_MPI_F08)
#define COMM_T type(MPI_Comm)
#define STATUS_T type(MPI_Status) :: status
#define STATUS_SOURCE status%MPI_SOURCE
#define STATUS_TAG status%MPI_TAG
#define REQUEST_T type(MPI_Request)
#define DATATYPE_T type(MPI_Datatype)
#define WINDOW_T type(MPI_Win)
#define FILE_T type(MPI_File)
#else
#define COMM_T integer
#define STATUS_T integer :: status(MPI_STATUS_SIZE)
#define STATUS_SOURCE status(MPI_SOURCE)
#define STATUS_TAG status(MPI_TAG)
#define REQUEST_T integer
#define DATATYPE_T integer
#define WINDOW_T integer
#define FILE_T integer
#endif

module common
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  use, intrinsic :: iso_fortran_env, only: output_unit
  implicit none
#if defined(MPIF_H)
  include 'mpif.h'
#endif
  integer :: rank, world, error
contains
  subroutine check(name, failed)
    character(len=*), intent(in) :: name
    logical, intent(in) :: failed
    integer :: wrong(1), total(1)
    wrong = merge(1, 0, failed)
    total = 0
    call MPI_Reduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
    if (rank == 0) print '(a,1x,a,1x,i0)', 'check', name, total(1)
    flush (output_unit)  ! what was printed survives a crash
  end subroutine

  ! Whether a call that an MPI may refuse on this network or file system was refused on any rank; then rank 0 says so.
  logical function refused(name, code)
    character(len=*), intent(in) :: name
    integer, intent(in) :: code
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: mine(1), worst(1), length
    mine = code
    call MPI_Reduce(mine, worst, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, error)
    call MPI_Bcast(worst, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    refused = worst(1) /= MPI_SUCCESS
    if (refused .and. rank == 0) then
      call MPI_Error_string(worst(1), text, length, error)
      print '(a,1x,a,1x,a)', 'absent', name, text(:length)
    end if
  end function

  integer function pattern(from, i)
    integer, intent(in) :: from, i
    pattern = from * 1000003 + i * 7
  end function

  subroutine places()
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    integer :: letters(MPI_MAX_PROCESSOR_NAME)  ! sent as numbers: mpif.h has one type of buffer for each routine
    integer :: length, i, j, version, subversion
    STATUS_T
    name = ' '
    call MPI_Get_processor_name(name, length, error)
    letters = [(iachar(name(j:j)), j=1, len(name))]
    call MPI_Get_version(version, subversion, error)
    if (rank == 0) then
      print '(a,1x,i0)', 'world', world
      print '(a,1x,i0,a,i0)', 'fact standard', version, '.', subversion
      print '(a,1x,i0,1x,a)', 'rank', 0, trim(name)
      do i = 1, world - 1
        call MPI_Recv(letters, len(name), MPI_INTEGER, i, 90, MPI_COMM_WORLD, status, error)
        do j = 1, len(name)
          name(j:j) = achar(letters(j))
        end do
        print '(a,1x,i0,1x,a)', 'rank', i, trim(name)
      end do
    else
      call MPI_Send(letters, len(name), MPI_INTEGER, 0, 90, MPI_COMM_WORLD, error)
    end if
  end subroutine

  subroutine point_to_point()
    integer, parameter :: large = 262144
    integer, allocatable :: out(:), in(:)
    integer :: right, left, i, count, wrong, seen, got(1), mine(1)
    REQUEST_T :: requests(2)
    STATUS_T
    right = mod(rank + 1, world)
    left = mod(rank + world - 1, world)
    allocate (out(large), in(large))
    out = [(pattern(rank, i), i=1, large)]
    in = -1
    call MPI_Sendrecv(out, large, MPI_INTEGER, right, 7, in, large, MPI_INTEGER, left, 7, MPI_COMM_WORLD, status, error)
    call MPI_Get_count(status, MPI_INTEGER, count, error)
    wrong = merge(0, 1, count == large .and. STATUS_SOURCE == left .and. STATUS_TAG == 7)
    do i = 1, large
      if (in(i) /= pattern(left, i)) wrong = wrong + 1
    end do
    call check('send_receive', wrong /= 0)

    in = -1
    wrong = 0
    call MPI_Irecv(in, large, MPI_INTEGER, right, 8, MPI_COMM_WORLD, requests(1), error)
    call MPI_Isend(out, large, MPI_INTEGER, left, 8, MPI_COMM_WORLD, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    do i = 1, large
      if (in(i) /= pattern(right, i)) wrong = wrong + 1
    end do
    call check('nonblocking', wrong /= 0)

    wrong = 0
    seen = 0
    if (rank == 0) then
      do i = 1, world - 1
        call MPI_Recv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, error)
        if (got(1) /= STATUS_SOURCE * 11 .or. STATUS_TAG /= STATUS_SOURCE + 100) wrong = wrong + 1
        seen = seen + STATUS_SOURCE
      end do
      if (seen /= world * (world - 1) / 2) wrong = wrong + 1
    else
      mine = rank * 11
      call MPI_Send(mine, 1, MPI_INTEGER, 0, rank + 100, MPI_COMM_WORLD, error)
    end if
    call check('any_source', wrong /= 0)
  end subroutine

  subroutine collectives()
    double precision :: values(3), sums(3), expected
    integer, allocatable :: all(:), back(:)
    integer :: i, total(1), mine(1), numbers(3), members, half_size, half_rank
    COMM_T :: half
    numbers = 0
    if (rank == 0) numbers = [17, -42, huge(1)]
    call MPI_Bcast(numbers, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call check('broadcast', any(numbers /= [17, -42, huge(1)]))

    values = [dble(rank + 1), dble(-rank), 0.5d0]
    call MPI_Allreduce(values, sums, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    expected = world * (world + 1) / 2d0
    call check('reduce', sums(1) /= expected .or. sums(2) /= -(expected - world) .or. sums(3) /= 0.5d0 * world)

    allocate (all(world), back(world))
    mine = rank * rank
    call MPI_Allgather(mine, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check('gather', any(all /= [(i * i, i=0, world - 1)]))

    all = [(rank * world + i, i=0, world - 1)]
    call MPI_Alltoall(all, 1, MPI_INTEGER, back, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check('all_to_all', any(back /= [(i * world + rank, i=0, world - 1)]))

    mine = rank + 1
    call MPI_Scan(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check('scan', total(1) /= (rank + 1) * (rank + 2) / 2)

    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, error)
    call MPI_Comm_size(half, half_size, error)
    call MPI_Comm_rank(half, half_rank, error)
    members = merge((world + 1) / 2, world / 2, mod(rank, 2) == 0)
    call check('split', half_size /= members .or. half_rank /= members - 1 - rank / 2)
    call MPI_Comm_free(half, error)
  end subroutine

  subroutine derived_types()
    integer :: matrix(8, 8), row(8), i, j, right, left
    DATATYPE_T :: strided
    STATUS_T
    right = mod(rank + 1, world)
    left = mod(rank + world - 1, world)
    do j = 1, 8
      do i = 1, 8
        matrix(i, j) = rank * 100 + (i - 1) * 8 + j
      end do
    end do
    row = -1
    call MPI_Type_vector(8, 1, 8, MPI_INTEGER, strided, error)
    call MPI_Type_commit(strided, error)
    call MPI_Sendrecv(matrix(3, 1), 1, strided, right, 1, row, 8, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status, error)
    call MPI_Type_free(strided, error)
    call check('derived_types', any(row /= [(left * 100 + 16 + j, j=1, 8)]))
  end subroutine

  subroutine one_sided()
    integer, asynchronous :: base(4)
    integer :: value(1), one(1), got(1), left, right, bytes, code
    integer(MPI_ADDRESS_KIND) :: window_bytes, place
    logical :: wrong
    WINDOW_T :: window
    right = mod(rank + 1, world)
    left = mod(rank + world - 1, world)
    call MPI_Type_size(MPI_INTEGER, bytes, error)
    window_bytes = 4 * bytes
    base = 0
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
    call MPI_Win_create(base, window_bytes, bytes, MPI_INFO_NULL, MPI_COMM_WORLD, window, code)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
    if (refused('put_get', code)) return
    call MPI_Win_fence(0, window, error)
    value = rank * 3 + 1
    one = 1
    place = 0
    call MPI_Put(value, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, window, error)
    place = 1
    call MPI_Accumulate(one, 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, MPI_SUM, window, error)
    call MPI_Win_fence(0, window, error)
    wrong = base(1) /= left * 3 + 1 .or. (rank == 0 .and. base(2) /= world)
    place = 0
    call MPI_Get(got, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, window, error)
    call MPI_Win_fence(0, window, error)
    call MPI_Win_free(window, error)
    call check('put_get', wrong .or. got(1) /= value(1))
  end subroutine

  subroutine files(path)
    character(len=*), intent(in) :: path
    integer :: out(1000), in(1000), i, other, bytes, opened
    integer(MPI_OFFSET_KIND) :: place
    FILE_T :: file
    STATUS_T
    other = world - 1 - rank
    out = [(pattern(rank, i), i=1, 1000)]
    in = -1
    call MPI_File_open(MPI_COMM_WORLD, path, ior(ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_MODE_DELETE_ON_CLOSE), &
                       MPI_INFO_NULL, file, opened)
    if (refused('file', opened)) return
    call MPI_Type_size(MPI_INTEGER, bytes, error)
    place = int(rank, MPI_OFFSET_KIND) * 1000 * bytes
    call MPI_File_write_at_all(file, place, out, 1000, MPI_INTEGER, status, error)
    call MPI_File_sync(file, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_File_sync(file, error)
    place = int(other, MPI_OFFSET_KIND) * 1000 * bytes
    call MPI_File_read_at_all(file, place, in, 1000, MPI_INTEGER, status, error)
    call MPI_File_close(file, error)
    call check('file', any(in /= [(pattern(other, i), i=1, 1000)]))
  end subroutine
end module

program bindings
  use common
  implicit none
  character(len=4096) :: path
  integer :: level
  call MPI_Init_thread(MPI_THREAD_FUNNELED, level, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, world, error)
  call places()
  call point_to_point()
  call collectives()
  call derived_types()
  call one_sided()
  if (command_argument_count() > 0) then
    call get_command_argument(1, path)
    call files(trim(path))
  end if
  if (rank == 0) print '(a)', 'done'
  call MPI_Finalize(error)
end program
