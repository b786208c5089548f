import CommandLineKit
import Cryptography
import Glibc
import Unlocking

/// Questions on the terminal.
enum Question {
    static var canBeAsked: Bool { Terminal.isTerminal(STDIN_FILENO) && Terminal.isTerminal(STDERR_FILENO) }

    /// nil without a terminal or an answer. Blocks.
    /// - Parameter prompt: may have names in it that others chose.
    static func line(_ prompt: String) -> String? {
        guard canBeAsked else { return nil }
        Terminal.write(PrintableText.escaping(prompt), to: STDERR_FILENO)
        return readLine(strippingNewline: true).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The same without showing what is typed. Blocks.
    static func secret(_ prompt: String) -> SecretBytes? {
        guard canBeAsked else { return nil }
        return SilentTerminal.whileSilent {
            Terminal.write(prompt, to: STDERR_FILENO)
            // None is as good as one that is wrong: the database says so.
            let secret = try? Passphrase.read(from: STDIN_FILENO, line: true)
            return secret.flatMap { $0.count > 0 ? $0 : nil }
        }
    }

    /// Whether somebody could answer: a process in the background would only be stopped.
    static var isPossible: Bool { canBeAsked && tcgetpgrp(STDIN_FILENO) == getpgrp() }

    /// Whether there is a terminal, but this process would be stopped if it read from it (`&` in a shell).
    static var isInBackground: Bool { canBeAsked && !isPossible }

    static func passphrase(_ question: Ways.Passphrase) -> SecretBytes? {
        switch question {
        case .present: secret("Passphrase for \(subject): ")
        case .presentOnceMore: secret("Not the right one. Passphrase for \(subject): ")
        case .new: newPassphrase()
        case .again: secret("Repeat passphrase: ")
        }
    }

    /// Whose passphrase it is: SimpleX has one too.
    private static let subject = "ChatFS' data, not your SimpleX one"

    /// Says of a weak one that it is weak, and takes it.
    private static func newPassphrase() -> SecretBytes? {
        let typed = secret("New passphrase for \(subject): ")
        if let typed, let weakness = PassphraseStrength.weakness(of: typed) {
            Terminal.complain("chatfs: this passphrase is weak: \(weakness)")
        }
        return typed
    }
}
