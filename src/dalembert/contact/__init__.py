"""Contacts: geometry, rows, laws of contact and friction, and the solvers of both."""
