import CommandLineKit

/// `chatfs completion SHELL`: prints the completion script of a shell, generated from the command table.
enum CompletionCommand {
    private static let shell = Argument("SHELL", .choice(Completion.self), "bash, zsh or fish.")

    static let command = Command(
        "completion", "Print the completion script of a shell.", section: CommandSection.other,
        arguments: [shell],
        examples: [
            Example(
                "eval \"$(chatfs completion bash)\"", "Complete commands, options and files in this shell.")
        ]
    ) { invocation in
        Terminal.write(invocation[shell].script(for: invocation.program), to: 1)
    }
}
