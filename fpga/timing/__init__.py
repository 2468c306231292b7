"""Longest paths of the RTL, and the table that holds them."""
