"""Descriptions of registers, and what is made from them."""
