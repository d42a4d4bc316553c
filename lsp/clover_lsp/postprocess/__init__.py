"""From what the model wrote to what is worth showing: small pure rules, each on plain strings."""
