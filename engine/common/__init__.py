"""Values and primitives that every room uses: expression types, casts of engines' output, caches, tasks and wake-ups."""
