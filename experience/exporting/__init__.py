"""A store's records in the forms that other tools read. One module a format.

Each is made of the records as they stand, with secrets masked as they were stored, and tells what its format cannot hold.
Our own JSON Lines, which lose nothing and can be imported again, are the business of `experience.transfer`.
"""
