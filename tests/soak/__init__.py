"""A soak test: a cluster under mixed load for as long as wanted, with a member that is killed and restarted, watched
for leaks.

`load`: the clients' work, with every answer checked. `samples`: the resources that members hold when nothing runs.
`trend`: whether they grow. `__main__`: `make soak MINUTES=10`.
"""
