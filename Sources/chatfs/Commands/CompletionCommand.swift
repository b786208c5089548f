import CommandLineKit

/// `chatfs completion SHELL`: prints the completion script of a shell, generated from the command table.
enum CompletionCommand {
    static let command = Command(
        "completion", "Print the completion script of a shell.", section: CommandSection.other,
        arguments: [Argument("SHELL", .choice(Completion.allCases.map(\.rawValue)), "bash, zsh or fish.")],
        examples: [
            Example(
                "eval \"$(chatfs completion bash)\"", "Complete commands, options and files in this shell.")
        ]
    ) { invocation in
        guard let shell = Completion(rawValue: invocation.argument("SHELL")) else { throw ExitCode.usage }
        Terminal.write(shell.script(for: invocation.program), to: 1)
    }
}
