return { 1, (clock()) }
