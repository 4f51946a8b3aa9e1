! The callbacks of shakedown_checkpoint.f90 for a communicator of MPI. Compile with the application's MPI (mpi_f08); of an
! older handle, an integer, make one: world%mpi_val = handle.
!
!   type(checkpoint_comm) :: comm
!   call comm_of(MPI_COMM_WORLD, comm, error)
!   call session%open(options, error, comm)
module shakedown_checkpoint_mpi
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use shakedown_checkpoint, only: checkpoint_comm, ckpt_ok, ckpt_peer
  implicit none
  private
  public :: comm_of

contains

  !> COLLECTIVE. Duplicates the communicator; session%close frees the duplicate, and so comes before MPI_Finalize.
  subroutine comm_of(world, comm, error)
    type(MPI_Comm), intent(in) :: world
    type(checkpoint_comm), intent(out) :: comm
    integer, intent(out) :: error
    type(MPI_Comm), pointer :: own
    integer :: failed, rank, ranks

    error = ckpt_peer
    allocate (own)
    call MPI_Comm_dup(world, own, failed)
    if (failed /= MPI_SUCCESS) then
      deallocate (own)
      return
    end if
    call MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN)
    call MPI_Comm_rank(own, rank)
    call MPI_Comm_size(own, ranks)
    comm%rank = int(rank, c_int)
    comm%size = int(ranks, c_int)
    comm%context = c_loc(own)
    comm%allgather = c_funloc(allgather)
    comm%release = c_funloc(release)
    error = ckpt_ok
  end subroutine

  integer(c_int) function allgather(context, mine, all, bytes) bind(c)
    type(c_ptr), value :: context, mine, all
    integer(c_size_t), value :: bytes
    type(MPI_Comm), pointer :: own
    character(kind=c_char), pointer, contiguous :: from(:), into(:)
    integer :: ranks, failed, count

    allgather = 1
    if (bytes > huge(count)) return  ! MPI's count; the library sends a few kilobytes at a time
    count = int(bytes)
    call c_f_pointer(context, own)
    call MPI_Comm_size(own, ranks)
    call c_f_pointer(mine, from, [bytes])
    call c_f_pointer(all, into, [bytes * ranks])
    call MPI_Allgather(from, count, MPI_BYTE, into, count, MPI_BYTE, own, failed)
    if (failed == MPI_SUCCESS) allgather = 0
  end function

  subroutine release(context) bind(c)
    type(c_ptr), value :: context
    type(MPI_Comm), pointer :: own
    logical :: over

    call c_f_pointer(context, own)
    call MPI_Finalized(over)
    if (.not. over) call MPI_Comm_free(own)
    deallocate (own)
  end subroutine

end module
