import CommandLineKit
import Glibc

/// `chatfs manual`: the man page, made from the command table.
enum ManualCommand {
    static let command = Command(
        "manual", "Print the manual page in the format of man(1).", section: CommandSection.other,
        examples: [Example("chatfs manual | man -l -", "Read it.")]
    ) { invocation in
        let page = ManualPage.text(
            for: invocation.program, version: Release.version, files: ManualTexts.files,
            environment: ManualTexts.environment)
        Terminal.write(page, to: STDOUT_FILENO)
    }
}
