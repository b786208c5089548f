import Base
import ChatCore

/// Meanings of the official core's errors for readers and senders, with a sentence for each. The first row
/// counts whose names occur in the error's path in this order.
extension APIError {
    struct Meaning: Sendable {
        let names: [String]
        let code: ChatErrorCode
        let sentence: String

        init(_ names: [String], _ code: ChatErrorCode, _ sentence: String) {
            self.names = names
            self.code = code
            self.sentence = sentence
        }

        func fits(_ path: [String]) -> Bool {
            var left = path[...]
            for name in names {
                guard let index = left.firstIndex(of: name) else { return false }
                left = left[(index + 1)...]
            }
            return true
        }
    }

    static let meanings: [Meaning] = [
        // Files on relays.
        Meaning(
            ["XFTP", "AUTH"], .file(.expired),
            "The relay no longer has this file: it has expired or was deleted."),
        Meaning(
            ["auth"], .file(.expired), "The relay no longer has this file: it has expired or was deleted."),
        Meaning(["XFTP", "NO_FILE"], .file(.neverUploaded), "The sender never uploaded this file."),
        Meaning(["noFile"], .file(.neverUploaded), "The sender never uploaded this file."),
        Meaning(["FILE", "NO_FILE"], .file(.neverUploaded), "The sender never uploaded this file."),
        Meaning(["XFTP", "BLOCKED"], .file(.blocked), "The relay has blocked this file."),
        Meaning(["blocked"], .file(.blocked), "The relay has blocked this file."),
        Meaning(["XFTP", "QUOTA"], .file(.relayFull), "The relay has no room left for this file."),
        Meaning(["XFTP", "SIZE"], .file(.damaged), "The relay has a part of an unexpected size."),
        Meaning(
            ["XFTP", "DIGEST"], .file(.damaged), "A part of this file differs from its description."),
        Meaning(["XFTP", "CRYPTO"], .file(.damaged), "A part of this file could not be decrypted."),
        Meaning(["XFTP", "TIMEOUT"], .file(.timedOut), "The relay did not answer in time."),
        Meaning(
            ["fileNotApproved"], .file(.notApproved),
            "This file lies on relays that are not configured; fetching it shows them your address."),
        Meaning(
            ["FILE", "NOT_APPROVED"], .file(.notApproved),
            "This file lies on relays that are not configured; fetching it shows them your address."),
        Meaning(["FILE", "SIZE"], .file(.damaged), "The file's description and its content differ in size."),
        Meaning(["FILE", "REDIRECT"], .file(.damaged), "The link of this file leads to another file."),
        Meaning(
            ["FILE", "FILE_IO"], .storage,
            "The SimpleX core could not read or write its files; look at its disk and folders."),
        Meaning(["invalidFileDescription"], .file(.damaged), "The description of this file is invalid."),
        Meaning(["relay", "host"], .file(.unreachable), "The relay of this file could not be reached."),
        Meaning(["relay"], .file(.unreachable), "The relay of this file failed."),
        Meaning(["BROKER", "TIMEOUT"], .file(.timedOut), "The server did not answer in time."),
        Meaning(
            ["BROKER", "HOST"], .file(.unreachable), "The server's identity does not match its address."),
        Meaning(["BROKER"], .file(.unreachable), "The server could not be reached."),
        Meaning(["fallbackToSMPProhibited"], .file(.other), "The sender's way of sending is not allowed."),
        Meaning(["inlineFileProhibited"], .file(.other), "Files inside messages are switched off."),
        Meaning(["fileRcvChunk"], .file(.damaged), "A part of this file arrived damaged."),

        // Files in the core.
        Meaning(
            ["fileCancelled"], .file(.cancelledBySender), "This file was cancelled and cannot be received."),
        Meaning(
            ["fileAlreadyReceiving"], .alreadyReceiving, "The SimpleX core already receives this file."),
        Meaning(["fileCancel"], .invalidCommand, "This transfer is over and cannot be cancelled."),
        Meaning(["fileAlreadyExists"], .nameTaken, "A file of this name already exists."),
        Meaning(["fileSize"], .tooLarge, "The file is larger than SimpleX sends: 1,073,741,824 bytes."),
        Meaning(["largeMsg"], .tooLarge, "The message is too long; give it a shorter caption."),
        Meaning(["fileNotReceived"], .noSuchFile, "This file was not received yet."),
        Meaning(
            ["error", "fileNotFound"], .noSuchFile,
            "The SimpleX core cannot find the file to send; it must share its folders with ChatFS."
        ),
        Meaning(
            ["fileRead"], .storage, "The SimpleX core could not read a file; it must share its folders."),
        Meaning(["fileWrite"], .storage, "The SimpleX core could not write a file; look at its disk."),
        Meaning(["fileSend"], .file(.other), "The SimpleX core could not send this file."),
        Meaning(["fileInternal"], .internalError, "The SimpleX core could not process a file."),
        Meaning(["fileImageType"], .invalidCommand, "The SimpleX core does not send this type of image."),
        Meaning(["fileImageSize"], .tooLarge, "This image is too large to be sent as an image."),

        // Chats.
        Meaning(["contactNotReady"], .sendingRefused, "This contact is not connected yet."),
        Meaning(["contactNotActive"], .sendingRefused, "This contact has left; nothing can be sent."),
        Meaning(["contactDisabled"], .sendingRefused, "The connection to this contact is switched off."),
        Meaning(["connectionDisabled"], .sendingRefused, "The connection to this contact is switched off."),
        Meaning(["groupUserRole"], .sendingRefused, "Your role in this group does not let you do this."),
        Meaning(
            ["groupMemberNotActive"], .sendingRefused, "You are not, or no longer, a member of this group."),
        Meaning(["groupNotJoined"], .sendingRefused, "You have not joined this group yet."),
        Meaning(["groupMemberUserRemoved"], .sendingRefused, "You were removed from this group."),
        Meaning(
            ["invalidChatItemDelete"], .invalidCommand,
            "This message can no longer be deleted for everyone, only for you."),
        Meaning(["chatItemNotFound"], .noSuchItem, "This message no longer exists."),
        Meaning(["chatItemNotFoundByFileId"], .noSuchFile, "This file no longer exists."),
        Meaning(["contactNotFound"], .noSuchChat, "This contact no longer exists."),
        Meaning(["groupNotFound"], .noSuchChat, "This group no longer exists."),
        Meaning(["noteFolderNotFound"], .noSuchChat, "These notes no longer exist."),
        Meaning(["errorStore", "fileNotFound"], .noSuchFile, "This file no longer exists."),
        Meaning(["rcvFileNotFound"], .noSuchFile, "This file no longer exists."),
        Meaning(["sndFileNotFound"], .noSuchFile, "This file no longer exists."),
        Meaning(["sharedMsgIdNotFoundByFileId"], .noSuchFile, "This file no longer exists."),
        Meaning(["userNotFoundByFileId"], .noSuchFile, "This file no longer exists."),

        // Links.
        Meaning(
            ["unsupportedConnReq"], .invalidCommand,
            "This SimpleX core does not support the link's version."),
        Meaning(
            ["invalidConnReq"], .invalidCommand,
            "This is not a SimpleX link, or it was truncated when copied."),

        // Users and lifecycle of the core.
        Meaning(["noActiveUser"], .noSuchProfile, "The SimpleX database has no profile yet; make one."),
        Meaning(["userNotFound"], .noSuchProfile, "The SimpleX database has no such profile."),
        Meaning(
            ["differentActiveUser"], .noSuchProfile,
            "Another profile was activated in the SimpleX core; mount again."),
        Meaning(["chatNotStarted"], .internalError, "The SimpleX core is not started."),
        Meaning(["chatNotStopped"], .internalError, "The SimpleX core must be stopped for this."),
        Meaning(
            ["chatStoreChanged"], .internalError,
            "The SimpleX core has another database since an import: restart it."),
        Meaning(
            ["errorDatabase", "errorNotADatabase"], .storage,
            "The passphrase of the SimpleX database is wrong, or it is damaged."),
        Meaning(["errorDatabase", "encrypted"], .storage, "The SimpleX database is encrypted already."),
        Meaning(["errorDatabase", "plaintext"], .storage, "The SimpleX database is not encrypted."),
        Meaning(["errorDatabase"], .storage, "The SimpleX core could not work with its database."),
        Meaning(
            ["errorStore", "dBBusyError"], .storage, "The SimpleX database is busy; another program uses it."),
        Meaning(["errorStore"], .storage, "The SimpleX core did not find this in its database."),
        Meaning(
            ["commandError"], .invalidCommand, "The SimpleX core does not know this command or refuses it."),
        Meaning(["invalidJSON"], .invalidCommand, "The SimpleX core did not understand a command."),
        Meaning(["INTERNAL"], .internalError, "The SimpleX core had an internal failure."),
        Meaning(["internalError"], .internalError, "The SimpleX core had an internal failure."),
        Meaning(["exception"], .internalError, "The SimpleX core had an internal failure."),
    ]

    /// The chat's settings forbid this kind of message. The core reports that as text only.
    private var isFeatureRefused: Bool {
        has("commandError") && message?.lowercased().hasPrefix("feature not allowed") == true
    }

    /// The agent uses this error for all operations that are not possible now; only its context names the
    /// operation. Servers use it inside an error of their own.
    private var isProhibited: Bool { path.suffix(3) == ["errorAgent", "CMD", "PROHIBITED"] }

    /// The connection needs new keys before it can send.
    private var awaitsKeys: Bool { isProhibited && context?.contains("send prohibited") == true }

    /// The connection is already being moved to another server.
    public var isMovingAlready: Bool { isProhibited && context?.contains("already switching") == true }

    private var meaning: Meaning? { Self.meanings.first { $0.fits(path) } }

    /// Converts to ChatFS's error.
    public var chatError: ChatError {
        if isFeatureRefused {
            return ChatError(.sendingRefused, "The settings of this chat do not allow this kind of message.")
        }
        if awaitsKeys {
            return ChatError(
                .internalError,
                "The SimpleX core cannot send now: you and the contact must agree on new keys first, for "
                    + "which both must be online. If that does not end, 'chatfs contact renew' "
                    + "sends the keys again.")
        }
        if isProhibited {
            return ChatError(
                .internalError,
                "The SimpleX core cannot do this now: the connection is being created, ended or changed."
            )
        }
        guard let meaning else {
            return ChatError(.internalError, "The SimpleX core refused: \(kind)".endingInFullStop)
        }
        return ChatError(meaning.code, sentence(for: meaning))
    }

    /// Converts to a file's problem. Other errors become `.other` with their sentence.
    public var fileProblem: FileProblem {
        let error = chatError
        switch error.code {
        // The code has no detail; the text may have.
        case .file(let kind) where kind != .other: return FileProblem(kind, error.sentence)
        case .tooLarge: return FileProblem(.tooLarge, error.sentence)
        default:
            let kind = guessedKind
            return FileProblem(kind, kind == .noSpace ? Self.noSpace : error.sentence)
        }
    }

    /// The disk may be that of a phone.
    private static let noSpace = "SimpleX has no space left to store this file."

    /// The kind of an error that is only a text (`{"type":"other"}`), by names in the text.
    private var guessedKind: FileProblem.Kind {
        let words = (message ?? "") + path.joined(separator: " ")
        let signs: [(String, FileProblem.Kind)] = [
            ("NOT_APPROVED", .notApproved), ("DIGEST", .damaged), ("CRYPTO", .damaged), ("QUOTA", .relayFull),
            ("TIMEOUT", .timedOut), ("NETWORK", .unreachable), ("No space left", .noSpace),
        ]
        return signs.first { words.contains($0.0) }?.1 ?? .other
    }

    private func sentence(for meaning: Meaning) -> String {
        if case .file(.notApproved) = meaning.code, !unknownRelays.isEmpty {
            let relays = unknownRelays.prefix(4).map(Self.printable).joined(separator: ", ")
            return
                "This file lies on relays that are not configured (\(relays)); fetching it shows them your "
                + "address. 'chatfs approve' lets it through."
        }
        if case .file(.blocked) = meaning.code, let blockingReason {
            return "The relay has blocked this file: \(Self.printable(blockingReason))."
        }
        return meaning.sentence
    }

    /// The innermost name of the error. A text in its place may contain anything, so only words are returned.
    private var kind: String {
        path.last { name in
            name.utf8.count <= 64 && name.utf8.allSatisfy { $0 < 0x7F && ($0 >= 0x41 || $0 == 0x2D) }
        } ?? "no reason was given"
    }

    private static func printable(_ text: String) -> String {
        String(
            text.unicodeScalars.filter { $0.value > 0x20 && $0.value < 0x7F }.prefix(200).map(Character.init))
    }
}
