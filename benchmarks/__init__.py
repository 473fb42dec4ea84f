"""Speed beside other libraries; rival policies, written as users write theirs; what bounds are worth."""
