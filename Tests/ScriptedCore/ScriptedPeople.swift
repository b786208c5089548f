import Base

/// Commands about links, the address and its requests.
struct ScriptedPeople {
    private let text: String
    private let words: [String]

    init(_ text: String) {
        self.text = text
        words = text.split(separator: " ").map(String.init)
    }

    private static let full = "simplex:/contact#/?v=2-7&smp=x"

    /// Returns nil for other commands.
    func answer(_ state: inout ScriptedState) -> String? {
        switch words.first {
        case "/_connect": connect(&state)
        case "/_get" where text.hasPrefix("/_get code @"): tellCode(state)
        case "/_verify": verify(&state)
        case "/_sync": told("contactRatchetSyncStarted", #""connectionStats":{},"contact":{}"#)
        case "/_switch": told("contactSwitchStarted", #""connectionStats":{},"contact":{}"#)
        case "/_address": create(&state)
        case "/_show_address": show(state)
        case "/_delete_address":
            state.address == nil ? Self.unknown("userContactLinkNotFound") : deleted(&state)
        case "/_address_settings", "/_auto_accept":
            accept(automatically: text.contains("acceptIncognito") || text.hasSuffix(" on"), &state)
        case "/_accept", "/_reject": answerRequest(&state)
        case "/_join": join(&state)
        default: nil
        }
    }

    /// Returns answers to queries about the database, or nil for others.
    func rows(_ state: ScriptedState) -> [String]? {
        if text.contains("FROM contact_requests") {
            return state.requests.sorted { $0.key < $1.key }.map { number, name in
                "\(number)|1800000000|\(Hexadecimal.encode(Array(name.utf8)).uppercased())"
            }
        }
        if text.contains("m.member_status = 'invited'") {
            return state.invitedInto.sorted().map { group in
                let names = [state.groups[group] ?? "", "bob"].map {
                    Hexadecimal.encode(Array($0.utf8)).uppercased()
                }
                return "\(group)|1800000000|\(names[0])|\(names[1])"
            }
        }
        guard text.contains("FROM connections"), let number = words.last.flatMap({ Int64($0) }) else {
            return nil
        }
        return state.connections[number].map { ["\($0)|0"] } ?? ["0|0"]
    }

    private static let code = "12345 67890"

    /// The number of the contact in `/_get code @1` and `/_verify code @1 12345`.
    private var contact: Int64? { words.count > 2 ? Int64(words[2].dropFirst()) : nil }

    private func tellCode(_ state: ScriptedState) -> String {
        let isVerified = contact.map(state.verified.contains) ?? false
        let mark = isVerified ? #","connectionCode":{"securityCode":"\#(Self.code)","verifiedAt":"x"}"# : ""
        return told(
            "contactCode",
            #""connectionCode":"\#(Self.code)","contact":{"activeConn":{"pqSndEnabled":true,"pqRcvEnabled":true\#(mark)}}"#
        )
    }

    private func verify(_ state: inout ScriptedState) -> String {
        let digits = words.dropFirst(3).joined()
        let isVerified = digits == Self.code.filter { $0 != " " }
        if let contact {
            if isVerified { state.verified.insert(contact) }
            if digits.isEmpty { state.verified.remove(contact) }
        }
        return told("connectionVerified", #""verified":\#(isVerified),"expectedCode":"\#(Self.code)""#)
    }

    private func told(_ type: String, _ members: String) -> String {
        #"{"type":"\#(type)",\#(ScriptedState.user),\#(members)}"#
    }

    private static func unknown(_ type: String) -> String {
        #"{"type":"chatCmdError","chatError":{"type":"errorStore","storeError":{"type":"\#(type)"}}}"#
    }

    private func connect(_ state: inout ScriptedState) -> String {
        if words.count == 2 {
            return told(
                "invitation",
                #""connLinkInvitation":{"connFullLink":"simplex:/invitation#/?x","connShortLink":"https://a/i#b"},"#
                    + #""connection":{"pccConnId":7}"#)
        }
        if words[1] == "plan" {
            guard words[3].contains("#") else { return ScriptedManagement.refusal("commandError") }
            let plan =
                state.plans[words[3]] ?? #"{"type":"contactAddress","contactAddressPlan":{"type":"ok"}}"#
            return told(
                "connectionPlan",
                #""connLink":{"connFullLink":"\#(Self.full)","connShortLink":"\#(words[3])"},"connectionPlan":\#(plan)"#
            )
        }
        return told("sentInvitation", #""connection":{"pccConnId":8}"#)
    }

    private func create(_ state: inout ScriptedState) -> String {
        guard state.address == nil else { return Self.unknown("duplicateContactLink") }
        state.address = "https://a/a#b"
        return told("userContactLinkCreated", #""connLinkContact":\#(link("https://a/a#b"))"#)
    }

    private func link(_ short: String) -> String {
        #"{"connFullLink":"\#(Self.full)","connShortLink":"\#(short)"}"#
    }

    private func show(_ state: ScriptedState) -> String {
        guard let address = state.address else { return Self.unknown("userContactLinkNotFound") }
        let accepts = state.acceptsAutomatically ? #","autoAccept":{"acceptIncognito":false}"# : ""
        return told(
            "userContactLink",
            #""contactLink":{"connLinkContact":\#(link(address)),"addressSettings":{"businessAddress":false\#(accepts)}}"#
        )
    }

    private func deleted(_ state: inout ScriptedState) -> String {
        state.address = nil
        return #"{"type":"userContactLinkDeleted",\#(ScriptedState.user)}"#
    }

    private func accept(automatically: Bool, _ state: inout ScriptedState) -> String {
        state.acceptsAutomatically = automatically
        return show(state)
    }

    private func join(_ state: inout ScriptedState) -> String {
        guard let group = words.last.flatMap({ Int64($0.dropFirst()) }),
            state.invitedInto.remove(group) != nil
        else { return Self.unknown("groupNotFound") }
        return told("userAcceptedGroupSent", #""groupInfo":\#(state.group("#\(group)"))"#)
    }

    private func answerRequest(_ state: inout ScriptedState) -> String {
        guard let number = words.last.flatMap({ Int64($0) }),
            let name = state.requests.removeValue(forKey: number)
        else { return Self.unknown("contactRequestNotFound") }
        guard words[0] == "/_accept" else { return told("contactRequestRejected", #""contactRequest":{}"#) }
        let contact = 100 + number
        state.contacts[contact] = name
        return told("acceptingContactRequest", #""contact":\#(state.contact("@\(contact)"))"#)
    }
}
