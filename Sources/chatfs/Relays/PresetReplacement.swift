import ChatCore
import CommandLineKit
import EmbeddedCore

extension Invocation {
    /// Replaces operators' servers by those of the command line, unless `--also-preset` keeps them.
    func replacePresets(by own: [AnyRelay], of profile: Profile, in directory: DataDirectory) async throws {
        guard !own.isEmpty, !self[CommonOptions.alsoPreset] else { return }
        let relays = ProfileRelays(of: profile, in: directory)
        let replaced = RelayOperator.replaced(by: own, in: try await relays.list())
        guard !replaced.isEmpty else { return }
        try await relays.remove(replaced)
        Terminal.note(
            "chatfs: \(replaced.count) servers of operators were removed from the profile; --also-preset keeps them"
        )
    }
}
