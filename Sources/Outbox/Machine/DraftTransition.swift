import ChatCore

/// What a driver does for an event, in this order: write the row, let others see the new state, perform the effects.
struct DraftTransition: Equatable, Sendable {
    var row: RowChange?
    var effects: [DraftEffect] = []
    var reply = DraftReply.none
}

/// What becomes of the row of the journal before anybody sees the new state.
enum RowChange: Hashable, Sendable {
    /// Where it fails, nothing has happened, and who brought the event gets the error.
    case save(isDurable: Bool)
    /// Where it fails, only a later crash undoes it: that is logged.
    case saveIfPossible
    /// Where it fails, the spool file is marked instead (`Spool.mark`): it says to the next process that the row is
    /// not to be trusted.
    case saveOrMark(isDurable: Bool)
    /// As `save`.
    case delete(isDurable: Bool)
}

/// What is done after the new state is there, under the draft's mutex.
enum DraftEffect: Hashable, Sendable {
    case startQuietTime(period: Int)
    case cancelQuietTime
    /// Its quiet time is over, and its writers are waited for: the same period ends when one has ended, or after this
    /// time.
    case waitForWriters(period: Int, limit: Duration)
    /// Takes a place in the delivery queue: others behind it wait until it is ready or leaves.
    case reserveDelivery(sequence: Int64)
    case enqueueDelivery(sequence: Int64)
    case leaveDelivery
    /// What was copied along with the writer is worthless.
    case discardEarlyCopy
    /// It is empty, so it may be written in order once more.
    case restartEarlyCopy
    case removeStaged(StagedFile)
    /// The spool file goes, once nobody uses it.
    case removeBytesIfUnused
    /// The spool file goes; who has it open reads on.
    case removeBytes
    /// Others are told that its state or problem is another one.
    case announce
}

/// What the one who brought an event does next.
enum DraftReply: Hashable, Sendable {
    case none
    case opened(DraftOpening)
    /// Copy it, then say `staged` or `stagingFailed`.
    case stage(attempt: Int)
    /// It stays here for days: synchronise it.
    case makeDurable
    /// Say `quietTimeOver` with this period some time later.
    case retryStaging(period: Int)
    case queued
    /// Give it to the core, then say `accepted` or `refused`.
    case handOver(Delivery)
    /// The item is to be told to others.
    case becameItem
    /// It was removed: ask the core for its item, then say `accepted`, `takenBack` or `refused`.
    case lookForItem
    /// It was removed meanwhile: delete the item, then say `takenBack` or `refused`.
    case withdrawItem
    /// Say `backoffOver` some time later; so many tries have failed.
    case retryDelivery(tries: Int)
    /// It will be sent, at once or after the quiet time.
    case willRetry
    /// It is none of this outbox any more.
    case forgotten
    /// It was left alone for too long.
    case expired(Expiry)
}

/// What becomes of a draft that is left alone.
enum Expiry: Hashable, Sendable {
    /// It is empty.
    case removal
    /// It moves to `.chatfs/recovered`, where it is kept.
    case recovery
}

/// Why an event changes nothing.
enum DraftRefusal: Error, Hashable, Sendable {
    /// The user asks for what the state does not allow.
    case notPermitted
    /// No driver may bring this event in this state.
    case impossible
}
