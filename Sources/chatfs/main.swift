import CommandLineKit

// Nothing else belongs here: until a command's `begin` has run, this process must have one thread,
// because `mount --background` forks in it. `Program.main` says in which order things happen.
Program.main(ChatFS.program, version: ChatFS.version)
