"""A cluster under mixed load for as long as one likes, with a member that is killed and started again, watched for leaks.

`load`: what clients do, every answer checked. `samples`: what members hold whenever nothing runs. `trend`: whether it grows.
`__main__`: `make soak MINUTES=10`.
"""
