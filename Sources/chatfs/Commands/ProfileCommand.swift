import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

/// `chatfs profile`: the user's profiles.
enum ProfileCommand {
    private static let newName = Argument("NAME", .text, "The display name, which contacts see.")

    static let command = Command(
        "profile", "Make, list, rename and delete profiles.", section: CommandSection.chats,
        subcommands: [create, list, rename, delete])

    private static let create = Command(
        "create", "Make a profile, with Saved notes of its own.",
        discussion: """
            A name has 1 to 64 characters, no control characters and no space at either end. It does not begin with @, \
            # or *, and is unique in a data directory.
            """,
        arguments: [newName],
        options: [CommonOptions.relay, CommonOptions.noEncryption] + CommonOptions.directory,
        examples: [Example("chatfs profile create alice", "Make the profile alice.")]
    ) { invocation in
        let relays = try invocation.relays()
        let directory = try await invocation.dataDirectory(isMade: true)
        let name = invocation[newName]
        try await ThreadPool.shared.run {
            let profile = try directory.createProfile(name)
            try directory.addRelays(relays, to: profile)
        }
    }

    private static let list = Command(
        "list", "Print the names of all profiles, one per line.",
        options: [ProgramConnection.json] + CommonOptions.directory,
        examples: [Example("chatfs profile list", "Print names for --profile.")]
    ) { invocation in
        let access = try DirectoryAccess(invocation)
        guard try await ThreadPool.shared.run({ try access.isThere() }) else { return }
        let directory = try await ThreadPool.shared.run { try access.open() }
        for profile in try await ThreadPool.shared.run({ try directory.profiles() }) {
            Terminal.print(
                invocation[ProgramConnection.json]
                    ? JSONLine.object([("name", profile.displayName)]) : profile.displayName)
        }
    }

    private static let argument = Argument("NAME", .listed("profiles"), "The profile.")
    private static let otherName = Argument(
        "NEW", .text, "The new name, in the form that 'profile create' accepts.")

    private static let rename = Command(
        "rename", "Give a profile another name.",
        discussion: "Contacts see the new name; the names of their folders stay.",
        arguments: [argument, otherName], options: CommonOptions.directory,
        examples: [Example("chatfs profile rename alice 'Alice B.'", "Rename alice to Alice B.")]
    ) { invocation in
        let directory = try await invocation.dataDirectory()
        let (name, new) = (invocation[argument], invocation[otherName])
        try await ThreadPool.shared.run { () throws(ChatError) in
            try directory.recordFolders()
            try directory.renameProfile(directory.profile(named: name), to: new)
        }
    }

    private static let delete = Command(
        "delete", "Delete a profile with all its chats and files.",
        discussion: "Contacts keep their copies. The profile must not be mounted.",
        arguments: [argument], options: [Confirmation.option] + CommonOptions.directory,
        examples: [Example("chatfs profile delete alice", "Delete alice, after a question.")]
    ) { invocation in
        let directory = try await invocation.dataDirectory()
        let name = invocation[argument]
        let profile = try await ThreadPool.shared.run { () throws(ChatError) in
            try directory.profile(named: name)
        }
        try await Confirmation.ask("Delete \(profile.displayName) with all chats and files?", invocation)
        // By its number, because the name may belong to another profile after a long confirmation.
        let core = try await EmbeddedCore.open(directory, profile: profile)
        do throws(ChatError) {
            try await core.deleteProfile()
        } catch {
            await core.shutDown()
            throw error
        }
    }
}
