import CommandLineKit
import Fuse
import Keyring
import Media
import MessageBus
import Notifications
import Posix

// Internal processes of this program: decode a picture, make calls on the mount, refuse requests after the daemon's
// death, talk to the desktop, follow the system bus, hold a key.
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

// Most commands handle keys.
ProcessHardening.forbidDumps()

// Nothing else may run here: until a command's `begin` returns, the process must have one thread, because `mount
// --background` forks. `Program.main` describes the order.
Program.main(ChatFS.program, version: Release.version, details: { Release.details })
