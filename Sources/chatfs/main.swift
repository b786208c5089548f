import CommandLineKit
import Fuse
import Keyring
import Media
import MessageBus
import Notifications
import Posix

// Not commands of a user: the process that decodes a picture, the one that makes calls on the mount, the one that refuses
// requests after its daemon, the one that speaks with the desktop, the one that hears the system, and the one that holds a key are this program as well.
if ProgramArguments.all.dropFirst().first == PictureProcess.word {
    PictureProcess.main(Array(ProgramArguments.all.dropFirst(2)))
}

if ProgramArguments.all.dropFirst().first == WatcherProcess.word { WatcherProcess.main() }

if ProgramArguments.all.dropFirst().first == RefusalProcess.word {
    RefusalProcess.main(Array(ProgramArguments.all.dropFirst(2)))
}

if ProgramArguments.all.dropFirst().first == NotificationProcess.word { NotificationProcess.main() }

if ProgramArguments.all.dropFirst().first == SystemBusProcess.word { SystemBusProcess.main() }

if ProgramArguments.all.dropFirst().first == KeyringProcess.word {
    KeyringProcess.main(Array(ProgramArguments.all.dropFirst(2)))
}

if ProgramArguments.all.dropFirst().first == KeyAgentProcess.word {
    KeyAgentProcess.main(Array(ProgramArguments.all.dropFirst(2)))
}

// Keys go through most commands, also those that are over at once.
ProcessHardening.forbidDumps()

// Nothing else belongs here: until a command's `begin` has run, this process must have one thread,
// because `mount --background` forks in it. `Program.main` says in which order things happen.
Program.main(ChatFS.program, version: Release.version, details: { Release.details })
