! examples/contexts/fortran.f90 - a library in the old style, with its state in a common block.  SPDX-License-Identifier: Apache-2.0
!
! A chain of n particles that swings in one of its modes.  chain_begin sets it up, chain_go_on makes
! steps, chain_place tells where a particle is.  There is one chain in the library, so two threads cannot
! use it at once.

subroutine chain_begin(n, mode) bind(c)
    use iso_c_binding
    implicit none
    integer(c_int), value :: n, mode
    integer, parameter :: most = 100000
    real(8), parameter :: pi = 3.14159265358979323846d0
    integer :: particles, i
    real(8) :: place(0:most + 1), speed(most)
    common /chain/ place, speed, particles

    particles = min(n, most)
    place = 0
    speed = 0
    do i = 1, particles
        place(i) = sin(i * mode * pi / (particles + 1))
    end do
end subroutine

! The force on each particle.
subroutine chain_pull(force)
    implicit none
    integer, parameter :: most = 100000
    integer :: particles, i
    real(8) :: place(0:most + 1), speed(most), force(most)
    common /chain/ place, speed, particles

    do i = 1, particles
        force(i) = place(i - 1) - 2 * place(i) + place(i + 1)
    end do
end subroutine

subroutine chain_go_on(steps, dt) bind(c)
    use iso_c_binding
    implicit none
    integer(c_int), value :: steps
    real(c_double), value :: dt
    integer, parameter :: most = 100000
    integer :: particles, i, s
    real(8) :: place(0:most + 1), speed(most)
    real(8), save :: force(most)
    common /chain/ place, speed, particles

    do s = 1, steps
        call chain_pull(force)
        do i = 1, particles
            speed(i) = speed(i) + dt / 2 * force(i)
            place(i) = place(i) + dt * speed(i)
        end do
        call chain_pull(force)
        do i = 1, particles
            speed(i) = speed(i) + dt / 2 * force(i)
        end do
    end do
end subroutine

function chain_place(i) bind(c)
    use iso_c_binding
    implicit none
    integer(c_int), value :: i
    real(c_double) :: chain_place
    integer, parameter :: most = 100000
    integer :: particles
    real(8) :: place(0:most + 1), speed(most)
    common /chain/ place, speed, particles

    chain_place = place(max(0, min(i, particles + 1)))
end function
