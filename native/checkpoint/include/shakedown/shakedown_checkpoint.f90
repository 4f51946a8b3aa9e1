! Checkpoints of Fortran programs: checkpoint.h as a derived type. Compile this file with the application (Fortran 2018)
! and link libshakedown_checkpoint; with MPI also shakedown_checkpoint_mpi.f90.
!
!   type(checkpoint_options) :: options
!   type(checkpoint_session) :: session
!   options%local = "/local/job"
!   call session%open(options, error)
!   call session%protect("step", step, error)
!   call session%protect("u", u, error, global_shape=[nx, ny], offset=[0, first_row])
!   call session%restore(error)                                 ! ckpt_nothing: a fresh start
!   do while (step < steps)
!     call advance()
!     call session%due(level, error)
!     if (level > 0) call session%checkpoint(level, error)
!   end do
!   call session%close(error)
!
! Every error is a number: ckpt_ok, or what session%message() puts into words. What is protected has to be a target that
! stays where it is. Shapes and offsets (from 0) are in the order of Fortran, first index fastest: u(nx, ny) is
! u[ny][nx] of C, C++ and Python.
module shakedown_checkpoint
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  implicit none
  private
  public :: checkpoint_options, checkpoint_session, checkpoint_comm

  integer, parameter, public :: ckpt_ok = 0, ckpt_nothing = 1, ckpt_invalid = 2, ckpt_storage = 3, ckpt_peer = 4, &
    ckpt_busy = 5, ckpt_timeout = 6, ckpt_locked = 7, ckpt_memory = 8, ckpt_mismatch = 9, ckpt_lost = 10, &
    ckpt_internal = 11, ckpt_device = 12
  integer, parameter, public :: ckpt_local = 1, ckpt_partner = 2, ckpt_group = 3, ckpt_global = 4
  integer, parameter, public :: ckpt_did_nothing = 0, ckpt_did_restore = 1, ckpt_did_checkpoint = 2
  integer, parameter, public :: ckpt_keep = 0, ckpt_discard = 1
  integer, parameter :: type_int8 = 1, type_int16 = 3, type_int32 = 5, type_int64 = 7, type_float32 = 11, &
    type_float64 = 12, type_complex64 = 13, type_complex128 = 14

  !> The callbacks of checkpoint.h; shakedown_checkpoint_mpi makes them of a communicator.
  type, bind(c) :: checkpoint_comm
    integer(c_int) :: rank = 0
    integer(c_int) :: size = 1
    type(c_ptr) :: context = c_null_ptr
    type(c_funptr) :: allgather = c_null_funptr
    type(c_funptr) :: release = c_null_funptr
  end type

  !> The options of checkpoint.h; what is not set keeps its default.
  type :: checkpoint_options
    character(len=:), allocatable :: local, global, node, domain, address
    integer :: group_size = 8, group_losses = 2, keep = 2
    logical :: synchronous = .false.
    real(real64) :: mtti_seconds = 0, timeout_seconds = 120
    real(real64) :: interval_seconds(4) = 0
  end type

  type, bind(c) :: c_options
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: local, global, node, domain, address
    integer(c_int) :: group_size, group_losses, keep, synchronous
    real(c_double) :: mtti_seconds
    real(c_double) :: interval_seconds(0:4)
    real(c_double) :: timeout_seconds
  end type

  type :: checkpoint_session
    private
    type(c_ptr) :: handle = c_null_ptr
    character(len=:), allocatable :: words
  contains
    procedure :: open => session_open
    procedure :: close => session_close
    procedure :: unprotect => session_unprotect
    procedure :: due => session_due
    procedure :: checkpoint => session_checkpoint
    procedure :: wait => session_wait
    procedure :: pending => session_pending
    procedure :: restore => session_restore
    procedure :: snapshot => session_snapshot
    procedure :: set_option => session_set_option
    procedure :: message => session_message
    procedure, private :: protect_int8, protect_int16, protect_int32, protect_int64, protect_real32, protect_real64, &
      protect_complex32, protect_complex64
    generic :: protect => protect_int8, protect_int16, protect_int32, protect_int64, protect_real32, protect_real64, &
      protect_complex32, protect_complex64
  end type

  interface
    subroutine c_options_init(options) bind(c, name="shakedown_ckpt_options_init")
      import :: c_options
      type(c_options), intent(out) :: options
    end subroutine
    integer(c_int) function c_open(comm, options, handle) bind(c, name="shakedown_ckpt_open")
      import :: c_int, c_options, c_ptr
      type(c_ptr), value :: comm
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: handle
    end function
    integer(c_int) function c_close(handle, policy) bind(c, name="shakedown_ckpt_close")
      import :: c_int, c_ptr
      type(c_ptr), value :: handle
      integer(c_int), value :: policy
    end function
    integer(c_int) function c_protect(handle, name, pointer, type, ndim, local_shape, global_shape, offset) &
        bind(c, name="shakedown_ckpt_protect")
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: handle, pointer, local_shape, global_shape, offset
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: type, ndim
    end function
    integer(c_int) function c_protect_inside(handle, name, pointer, type, ndim, local_shape, global_shape, offset, &
        memory_shape, memory_offset) bind(c, name="shakedown_ckpt_protect_inside")
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: handle, pointer, local_shape, global_shape, offset, memory_shape, memory_offset
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: type, ndim
    end function
    integer(c_int) function c_unprotect(handle, name) bind(c, name="shakedown_ckpt_unprotect")
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_due(handle, level) bind(c, name="shakedown_ckpt_due")
      import :: c_int, c_ptr
      type(c_ptr), value :: handle
      integer(c_int), intent(out) :: level
    end function
    integer(c_int) function c_checkpoint(handle, level) bind(c, name="shakedown_ckpt_checkpoint")
      import :: c_int, c_ptr
      type(c_ptr), value :: handle
      integer(c_int), value :: level
    end function
    integer(c_int) function c_poll(handle, pending) bind(c, name="shakedown_ckpt_poll")
      import :: c_int, c_ptr
      type(c_ptr), value :: handle
      integer(c_int), intent(out) :: pending
    end function
    integer(c_int) function c_wait(handle, seconds) bind(c, name="shakedown_ckpt_wait")
      import :: c_int, c_ptr, c_double
      type(c_ptr), value :: handle
      real(c_double), value :: seconds
    end function
    integer(c_int) function c_restore(handle, name) bind(c, name="shakedown_ckpt_restore")
      import :: c_int, c_ptr
      type(c_ptr), value :: handle, name
    end function
    integer(c_int) function c_snapshot(handle, did) bind(c, name="shakedown_ckpt_snapshot")
      import :: c_int, c_ptr
      type(c_ptr), value :: handle
      integer(c_int), intent(out) :: did
    end function
    integer(c_int) function c_set_option(handle, name, value) bind(c, name="shakedown_ckpt_set_option")
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*), value(*)
    end function
    type(c_ptr) function c_last_error(handle) bind(c, name="shakedown_ckpt_last_error")
      import :: c_ptr
      type(c_ptr), value :: handle
    end function
    integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

contains

  !> COLLECTIVE. On an error the session stays closed, and every call gives ckpt_invalid.
  subroutine session_open(self, options, error, comm)
    class(checkpoint_session), intent(inout) :: self
    type(checkpoint_options), intent(in) :: options
    integer, intent(out) :: error
    type(checkpoint_comm), intent(in), target, optional :: comm
    type(c_options) :: asked
    character(kind=c_char, len=:), allocatable, target :: local, global, node, domain, address
    type(c_ptr) :: ranks

    call c_options_init(asked)
    if (asked%struct_bytes /= c_sizeof(asked)) then
      call refuse(self, "shakedown_checkpoint.f90 is not of the same version as libshakedown_checkpoint", error)
      return
    end if
    call take(options%local, local, asked%local)
    call take(options%global, global, asked%global)
    call take(options%node, node, asked%node)
    call take(options%domain, domain, asked%domain)
    call take(options%address, address, asked%address)
    asked%group_size = int(options%group_size, c_int)
    asked%group_losses = int(options%group_losses, c_int)
    asked%keep = int(options%keep, c_int)
    asked%synchronous = merge(1_c_int, 0_c_int, options%synchronous)
    asked%mtti_seconds = options%mtti_seconds
    asked%interval_seconds(1:4) = options%interval_seconds
    asked%timeout_seconds = options%timeout_seconds
    ranks = c_null_ptr
    if (present(comm)) ranks = c_loc(comm)
    error = int(c_open(ranks, asked, self%handle))
    self%words = text_of(c_last_error(self%handle))
  end subroutine

  !> COLLECTIVE. Waits for what is being written; ckpt_discard removes the checkpoints of a work that is done.
  subroutine session_close(self, error, policy)
    class(checkpoint_session), intent(inout) :: self
    integer, intent(out) :: error
    integer, intent(in), optional :: policy
    integer(c_int) :: chosen

    chosen = ckpt_keep
    if (present(policy)) chosen = int(policy, c_int)
    error = ckpt_ok
    if (c_associated(self%handle)) error = int(c_close(self%handle, chosen))
    self%handle = c_null_ptr
    self%words = text_of(c_last_error(c_null_ptr))
  end subroutine

  subroutine session_unprotect(self, name, error)
    class(checkpoint_session), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer, intent(out) :: error

    call ended(self, c_unprotect(self%handle, c_text(name)), error)
  end subroutine

  !> COLLECTIVE. The level at which a checkpoint should be made now, or 0.
  subroutine session_due(self, level, error)
    class(checkpoint_session), intent(inout) :: self
    integer, intent(out) :: level, error
    integer(c_int) :: found

    found = 0
    call ended(self, c_due(self%handle, found), error)
    level = int(found)
  end subroutine

  !> COLLECTIVE. Saves all that is protected, which may be changed when this returns.
  subroutine session_checkpoint(self, level, error)
    class(checkpoint_session), intent(inout) :: self
    integer, intent(in) :: level
    integer, intent(out) :: error

    call ended(self, c_checkpoint(self%handle, int(level, c_int)), error)
  end subroutine

  !> Waits until the checkpoint is committed or has failed; at most `seconds`.
  subroutine session_wait(self, error, seconds)
    class(checkpoint_session), intent(inout) :: self
    integer, intent(out) :: error
    real(real64), intent(in), optional :: seconds
    real(c_double) :: longest

    longest = -1
    if (present(seconds)) longest = seconds
    call ended(self, c_wait(self%handle, longest), error)
  end subroutine

  !> Whether a checkpoint is still being written; the error is that of the last one.
  subroutine session_pending(self, pending, error)
    class(checkpoint_session), intent(inout) :: self
    logical, intent(out) :: pending
    integer, intent(out) :: error
    integer(c_int) :: found

    found = 0
    call ended(self, c_poll(self%handle, found), error)
    pending = found /= 0
  end subroutine

  !> COLLECTIVE. Fills what is protected, or one name of it. ckpt_nothing is a fresh start.
  subroutine session_restore(self, error, name)
    class(checkpoint_session), intent(inout) :: self
    integer, intent(out) :: error
    character(len=*), intent(in), optional :: name
    character(kind=c_char, len=:), allocatable, target :: only
    type(c_ptr) :: chosen

    chosen = c_null_ptr
    if (present(name)) then
      only = c_text(name)
      chosen = c_loc(only)
    end if
    call ended(self, c_restore(self%handle, chosen), error)
  end subroutine

  !> COLLECTIVE. Restores at the first call, later makes a checkpoint where one is due.
  subroutine session_snapshot(self, did, error)
    class(checkpoint_session), intent(inout) :: self
    integer, intent(out) :: did, error
    integer(c_int) :: found

    found = ckpt_did_nothing
    call ended(self, c_snapshot(self%handle, found), error)
    did = int(found)
  end subroutine

  subroutine session_set_option(self, name, value, error)
    class(checkpoint_session), intent(inout) :: self
    character(len=*), intent(in) :: name, value
    integer, intent(out) :: error

    call ended(self, c_set_option(self%handle, c_text(name), c_text(value)), error)
  end subroutine

  !> What went wrong last, and warnings.
  function session_message(self) result(words)
    class(checkpoint_session), intent(in) :: self
    character(len=:), allocatable :: words

    words = ""
    if (allocated(self%words)) words = self%words
  end function

  ! protect: names an array (or a scalar) that is saved. With global_shape and offset it is part of an array of all ranks;
  ! box and at (from 0) leave its ghost layers out: the part has the shape `box` and begins at `at` in the array.

  subroutine protect_int8(self, name, array, error, global_shape, offset, box, at)
    class(checkpoint_session), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int8), intent(inout), target :: array(..)
    integer, intent(out) :: error
    integer, intent(in), optional :: global_shape(:), offset(:), box(:), at(:)

    call protect_any(self, name, c_loc(array), type_int8, shape(array, c_int64_t), is_contiguous(array), error, &
      global_shape, offset, box, at)
  end subroutine

  subroutine protect_int16(self, name, array, error, global_shape, offset, box, at)
    class(checkpoint_session), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int16), intent(inout), target :: array(..)
    integer, intent(out) :: error
    integer, intent(in), optional :: global_shape(:), offset(:), box(:), at(:)

    call protect_any(self, name, c_loc(array), type_int16, shape(array, c_int64_t), is_contiguous(array), error, &
      global_shape, offset, box, at)
  end subroutine

  subroutine protect_int32(self, name, array, error, global_shape, offset, box, at)
    class(checkpoint_session), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int32), intent(inout), target :: array(..)
    integer, intent(out) :: error
    integer, intent(in), optional :: global_shape(:), offset(:), box(:), at(:)

    call protect_any(self, name, c_loc(array), type_int32, shape(array, c_int64_t), is_contiguous(array), error, &
      global_shape, offset, box, at)
  end subroutine

  subroutine protect_int64(self, name, array, error, global_shape, offset, box, at)
    class(checkpoint_session), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int64), intent(inout), target :: array(..)
    integer, intent(out) :: error
    integer, intent(in), optional :: global_shape(:), offset(:), box(:), at(:)

    call protect_any(self, name, c_loc(array), type_int64, shape(array, c_int64_t), is_contiguous(array), error, &
      global_shape, offset, box, at)
  end subroutine

  subroutine protect_real32(self, name, array, error, global_shape, offset, box, at)
    class(checkpoint_session), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real32), intent(inout), target :: array(..)
    integer, intent(out) :: error
    integer, intent(in), optional :: global_shape(:), offset(:), box(:), at(:)

    call protect_any(self, name, c_loc(array), type_float32, shape(array, c_int64_t), is_contiguous(array), error, &
      global_shape, offset, box, at)
  end subroutine

  subroutine protect_real64(self, name, array, error, global_shape, offset, box, at)
    class(checkpoint_session), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real64), intent(inout), target :: array(..)
    integer, intent(out) :: error
    integer, intent(in), optional :: global_shape(:), offset(:), box(:), at(:)

    call protect_any(self, name, c_loc(array), type_float64, shape(array, c_int64_t), is_contiguous(array), error, &
      global_shape, offset, box, at)
  end subroutine

  subroutine protect_complex32(self, name, array, error, global_shape, offset, box, at)
    class(checkpoint_session), intent(inout) :: self
    character(len=*), intent(in) :: name
    complex(real32), intent(inout), target :: array(..)
    integer, intent(out) :: error
    integer, intent(in), optional :: global_shape(:), offset(:), box(:), at(:)

    call protect_any(self, name, c_loc(array), type_complex64, shape(array, c_int64_t), is_contiguous(array), error, &
      global_shape, offset, box, at)
  end subroutine

  subroutine protect_complex64(self, name, array, error, global_shape, offset, box, at)
    class(checkpoint_session), intent(inout) :: self
    character(len=*), intent(in) :: name
    complex(real64), intent(inout), target :: array(..)
    integer, intent(out) :: error
    integer, intent(in), optional :: global_shape(:), offset(:), box(:), at(:)

    call protect_any(self, name, c_loc(array), type_complex128, shape(array, c_int64_t), is_contiguous(array), error, &
      global_shape, offset, box, at)
  end subroutine

  !> `extents` in the order of Fortran. Without global_shape an array is of this rank alone; a scalar is equal on all.
  subroutine protect_any(self, name, pointer, kind_of_element, extents, contiguous, error, global_shape, offset, box, at)
    class(checkpoint_session), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: pointer
    integer, intent(in) :: kind_of_element
    integer(c_int64_t), intent(in) :: extents(:)
    logical, intent(in) :: contiguous
    integer, intent(out) :: error
    integer, intent(in), optional :: global_shape(:), offset(:), box(:), at(:)
    integer(c_int64_t), target :: memory(size(extents)), part(size(extents)), whole(size(extents)), &
      begin(size(extents)), inside(size(extents))
    integer :: n

    n = size(extents)
    if (.not. contiguous) then
      call refuse(self, name // ": the array is not contiguous; protect the whole array with box= and at=", error)
    else if (present(global_shape) .neqv. present(offset)) then
      call refuse(self, name // ": global_shape and offset go together", error)
    else if (present(box) .neqv. present(at)) then
      call refuse(self, name // ": box and at go together", error)
    else if (present(box) .and. .not. present(global_shape)) then
      call refuse(self, name // ": box needs global_shape and offset", error)
    else if (wrong_size(global_shape, n) .or. wrong_size(offset, n) .or. wrong_size(box, n) .or. wrong_size(at, n)) then
      call refuse(self, name // ": shapes and offsets have as many entries as the array has dimensions", error)
    else if (.not. present(global_shape)) then
      memory = extents(n:1:-1)
      call ended(self, c_protect(self%handle, c_text(name), pointer, int(kind_of_element, c_int), int(n, c_int), &
        c_loc(memory), c_null_ptr, c_null_ptr), error)
    else
      memory = extents(n:1:-1)
      part = memory
      inside = 0
      if (present(box)) part = box(n:1:-1)
      if (present(at)) inside = at(n:1:-1)
      whole = global_shape(n:1:-1)
      begin = offset(n:1:-1)
      call ended(self, c_protect_inside(self%handle, c_text(name), pointer, int(kind_of_element, c_int), int(n, c_int), &
        c_loc(part), c_loc(whole), c_loc(begin), c_loc(memory), c_loc(inside)), error)
    end if
  end subroutine

  logical function wrong_size(values, n)
    integer, intent(in), optional :: values(:)
    integer, intent(in) :: n

    wrong_size = .false.
    if (present(values)) wrong_size = size(values) /= n
  end function

  subroutine refuse(self, words, error)
    class(checkpoint_session), intent(inout) :: self
    character(len=*), intent(in) :: words
    integer, intent(out) :: error

    self%words = words
    error = ckpt_invalid
  end subroutine

  subroutine ended(self, code, error)
    class(checkpoint_session), intent(inout) :: self
    integer(c_int), intent(in) :: code
    integer, intent(out) :: error

    error = int(code)
    self%words = text_of(c_last_error(self%handle))
  end subroutine

  !> An option that was set, as C's text; else null.
  subroutine take(option, text, pointer)
    character(len=:), allocatable, intent(in) :: option
    character(kind=c_char, len=:), allocatable, target, intent(inout) :: text
    type(c_ptr), intent(out) :: pointer

    pointer = c_null_ptr
    if (.not. allocated(option)) return
    text = c_text(option)
    pointer = c_loc(text)
  end subroutine

  function c_text(text) result(ended_by_null)
    character(len=*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: ended_by_null

    ended_by_null = trim(text) // c_null_char
  end function

  function text_of(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer(c_size_t) :: i

    text = ""
    if (.not. c_associated(pointer)) return
    call c_f_pointer(pointer, letters, [c_strlen(pointer)])
    text = repeat(" ", size(letters))
    do i = 1, size(letters, kind=c_size_t)
      text(i:i) = letters(i)
    end do
  end function

end module
