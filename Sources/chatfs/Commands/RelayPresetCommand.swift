import CommandLineKit

/// `chatfs relay preset`: the default relays of the official apps.
enum RelayPresetCommand {
    static let command = Command(
        "preset", "Have a profile use the relays of an operator that the official apps begin with.",
        discussion: """
            Says whose they are and under which conditions they may be used, and asks. Nothing is sent to them before they \
            were added, and then only when the profile makes a contact or sends a file.
            """,
        arguments: [
            Argument(
                "OPERATOR", .choice(RelayOperator.allCases.map(\.rawValue)), count: .oneOrMore,
                "simplex (SimpleX Chat Ltd.) or flux (Flux).")
        ],
        options: [
            .flag("yes", "Their conditions were read and are accepted: do not ask."),
            .flag("show", "Print the addresses; change nothing."),
            CommonOptions.profile, CommonOptions.mount,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs relay preset simplex", "Those of SimpleX Chat."),
            Example("chatfs relay preset simplex flux --yes", "Those of both, in a script."),
        ]
    ) { invocation in
        let operators = invocation.allArguments("OPERATOR").compactMap(RelayOperator.init)
        let relays = operators.flatMap(\.relays)
        if invocation.has("show") {
            for relay in relays { Terminal.print(relay.text) }
            return
        }
        let profile = try await ProfileRelays(invocation)
        if !invocation.has("yes"), !(await OperatorConditions.areAccepted(of: operators)) {
            throw Question.canBeAsked
                ? Refusal("Nothing was changed.")
                : UsageError("there is no terminal to ask on; --yes answers the question beforehand")
        }
        try await profile.add(relays)
        Terminal.note("\(relays.count) relays were added; 'chatfs relay list' names them.")
    }
}
