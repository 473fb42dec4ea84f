"""Where this package stands beside others: features looked up in their archives, speed and regret from other pages."""
