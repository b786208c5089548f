import ChatCore

/// What a refusal of the core means for a draft.
struct DeliveryRefusal: Hashable, Sendable {
    enum Consequence: Hashable, Sendable {
        /// Trying again without a change by somebody cannot help.
        case failed
        /// The same, found out before the core was asked: it may have it from an earlier attempt.
        case unfit
        /// Nobody knows whether the core has it.
        case unsure
        /// It may be taken later. `mayBeHandedOver`: whether the core may have it already, nil when this answer
        /// says nothing about that.
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

    /// Of what failed before the core was asked: that says nothing about earlier attempts.
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
        // It may have failed after it had taken the file, or could not be asked whether it has.
        case .sendingUndecided, .storage, .internalError: .retry(mayBeHandedOver: true)
        case .file(let kind):
            switch kind {
            // It looked at the file and said no.
            case .unreachable, .timedOut, .noSpace, .relayFull, .noRelay, .notApproved:
                .retry(mayBeHandedOver: false)
            case .expired, .neverUploaded, .cancelledBySender, .blocked, .damaged, .tooLarge, .other: .failed
            }
        }
    }
}
