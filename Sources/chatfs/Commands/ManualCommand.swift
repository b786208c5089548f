import CommandLineKit

/// `chatfs manual`: the man page, made from the command table.
enum ManualCommand {
    static let command = Command(
        "manual", "Print the manual page in the format of man(1).", section: ChatFS.Section.other,
        examples: [Example("chatfs manual | man -l -", "Read it.")]
    ) { invocation in
        Terminal.write(ManualPage.text(for: invocation.program, version: ChatFS.version), to: 1)
    }
}
