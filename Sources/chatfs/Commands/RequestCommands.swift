import Base
import ChatCore
import CommandLineKit
import Desktop

/// `chatfs requests` and `chatfs reject`: pending contact requests. `chatfs accept` accepts them.
enum RequestCommands {
    private static let number = Argument(
        "NUMBER", .text, "Number of the request, as 'chatfs requests' prints it.")

    static let requests = Command(
        "requests", "List pending contact requests and group invitations.",
        discussion: """
            Lists contact requests at your address, and group invitations from contacts. Each line has the number, \
            time and display name of the sender, and the text of the request or the group. Display names of strangers \
            are not verified. Answer with 'chatfs accept NUMBER' or 'chatfs reject NUMBER'. If an answer failed, the \
            line ends with the reason.
            """,
        section: CommandSection.chats, options: [ProgramConnection.json] + CommonOptions.access,
        examples: [Example("chatfs requests", "List pending requests.")]
    ) { invocation in
        for request in try await ProfileAccess(invocation).ask(.requests).requests ?? [] {
            if invocation[ProgramConnection.json] {
                Terminal.print(try ProgramConnection.json(Line(request)))
                continue
            }
            let group = request.group.map { " invites you into the group \($0)" } ?? ""
            let text = request.text.isEmpty ? "" : ": \(request.text)"
            let problem = request.problem.map { " (accepted, but: \($0))" } ?? ""
            Terminal.print(
                PrintableText.escaping(
                    "\(request.number)  \(request.time.text)  \(request.name)\(group)\(text)\(problem)"))
        }
    }

    /// The output of `--json`; time in seconds since 1970.
    private struct Line: Encodable {
        var number: Int64
        var name: String
        var time: Int64
        var text: String
        var group: String?
        var problem: String?

        init(_ request: WaitingRequest) {
            (number, name, text, group) = (request.number, request.name, request.text, request.group)
            (time, problem) = (request.time.seconds, request.problem)
        }
    }

    static let reject = Command(
        "reject", "Delete a pending request or invitation.",
        discussion: "The sender is not notified, and may send a new request.",
        section: CommandSection.chats, arguments: [number],
        options: CommonOptions.access,
        examples: [Example("chatfs reject 3", "Reject request 3.")]
    ) { invocation in
        guard let number = Int64(invocation[number]) else {
            throw UsageError("expected the number of a request, as 'chatfs requests' prints it")
        }
        _ = try await ProfileAccess(invocation).ask(.rejectRequest(number))
    }
}
