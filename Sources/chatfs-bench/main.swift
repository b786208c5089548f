print("chatfs-bench")
