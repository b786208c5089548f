/// Shells for which a completion script can be made.
public enum Completion: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// The script, for `eval` or for the folder in which the shell looks for completions.
    public func script(for program: Command) -> String {
        let entries = CompletionEntry.all(of: program)
        return switch self {
        case .bash: BashCompletion.script(program: program.name, entries: entries)
        case .zsh: ZshCompletion.script(program: program.name, entries: entries)
        case .fish: FishCompletion.script(program: program.name, entries: entries)
        }
    }
}
