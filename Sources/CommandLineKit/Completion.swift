/// Shells with completion scripts.
public enum Completion: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// Returns the script, for `eval` or for the shell's directory of completions.
    public func script(for program: Command) -> String {
        let entries = CompletionEntry.all(of: program)
        return switch self {
        case .bash: BashCompletion.script(program: program.name, entries: entries)
        case .zsh: ZshCompletion.script(program: program.name, entries: entries)
        case .fish: FishCompletion.script(program: program.name, entries: entries)
        }
    }
}
