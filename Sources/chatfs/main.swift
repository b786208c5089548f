print("chatfs")
