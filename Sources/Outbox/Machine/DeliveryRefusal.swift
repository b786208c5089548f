import ChatCore

/// The consequence of a core's refusal for a draft.
struct DeliveryRefusal: Hashable, Sendable {
    enum Consequence: Hashable, Sendable {
        /// Permanent without a change by the user.
        case failed
        /// Permanent, but found before the core was asked; the core may have the file from an earlier try.
        case unfit
        /// The core may or may not have the file.
        case unsure
        /// Temporary. `mayBeHandedOver`: true if the core may have the file already; nil if this error is no
        /// evidence.
        case retry(mayBeHandedOver: Bool?)
    }

    let consequence: Consequence
    let sentence: String

    init(_ consequence: Consequence, _ sentence: String) {
        self.consequence = consequence
        self.sentence = sentence
    }

    init(_ error: ChatError) {
        self.init(Self.consequence(of: error.code), error.sentence)
    }

    /// For errors before the core was asked, which are no evidence about earlier tries.
    init(beforehand error: ChatError) {
        let consequence: Consequence =
            switch Self.consequence(of: error.code) {
            case .failed, .unfit: .unfit
            case .unsure, .retry: .retry(mayBeHandedOver: nil)
            }
        self.init(consequence, error.sentence)
    }

    private static func consequence(of code: ChatErrorCode) -> Consequence {
        switch code {
        case .sendingUnsure: .unsure
        case .noSuchProfile, .noSuchChat, .noSuchItem, .noSuchFile, .sendingRefused, .tooLarge,
            .alreadyReceiving, .nameTaken, .invalidCommand, .wrongVersion:
            .failed
        case .profileInUse: .retry(mayBeHandedOver: nil)
        // The core may have failed after taking the file, or could not be asked.
        case .sendingUndecided, .storage, .internalError: .retry(mayBeHandedOver: true)
        case .file(let kind):
            switch kind {
            // The core examined and refused the file.
            case .unreachable, .timedOut, .noSpace, .relayFull, .noRelay, .notApproved:
                .retry(mayBeHandedOver: false)
            case .expired, .neverUploaded, .cancelledBySender, .blocked, .damaged, .tooLarge, .other: .failed
            }
        }
    }
}
