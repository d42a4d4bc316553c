"""What the server answers, by kind of message: each part registers its handlers with pygls."""
