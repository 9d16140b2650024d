"""Components that several kinds of statements share: compilation, distribution over members, fault policies."""
