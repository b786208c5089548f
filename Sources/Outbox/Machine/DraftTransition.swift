import ChatCore

/// The driver's work for an event, in this order: write the row, publish the new state, perform the effects.
struct DraftTransition: Equatable, Sendable {
    var row: RowChange?
    var effects: [DraftEffect] = []
    var reply = DraftReply.none
}

/// The journal write to make before publishing the new state.
enum RowChange: Hashable, Sendable {
    /// On failure the draft stays unchanged and the caller gets the error.
    case save(isDurable: Bool)
    /// On failure the error is logged; only a later crash undoes the change.
    case saveIfPossible
    /// On failure the spool file is marked (`Spool.mark`), so that the next process does not trust the row.
    case saveOrMark(isDurable: Bool)
    /// Like `save`.
    case delete(isDurable: Bool)
}

/// Work after the new state is published, with the draft's mutex held.
enum DraftEffect: Hashable, Sendable {
    case startQuietTime(period: Int)
    case cancelQuietTime
    /// The quiet time is over, and writers are awaited. The same period ends with the first exit or after
    /// `limit`.
    case waitForWriters(period: Int, limit: Duration)
    /// Reserves a place in the delivery queue. Drafts behind it wait until it is ready or removed.
    case reserveDelivery(sequence: Int64)
    case enqueueDelivery(sequence: Int64)
    case leaveDelivery
    /// The early copy is useless.
    case discardEarlyCopy
    /// The draft is empty and may be written in order again.
    case restartEarlyCopy
    case removeStaged(StagedFile)
    /// Delete the spool file after its last use.
    case removeBytesIfUnused
    /// Delete the spool file; open handles can still read.
    case removeBytes
    /// Report that state or problem changed.
    case announce
}

/// The caller's next step after an event.
enum DraftReply: Hashable, Sendable {
    case none
    case opened(DraftOpening)
    /// Copy it, then send `staged` or `stagingFailed`.
    case stage(attempt: Int)
    /// Synchronise it, because it stays for days.
    case makeDurable
    /// Send `quietTimeOver` with this period later.
    case retryStaging(period: Int)
    case queued
    /// Hand it to the core, then send `accepted` or `refused`.
    case handOver(Delivery)
    /// Report the item.
    case becameItem
    /// It was removed: ask the core for its item, then send `accepted`, `takenBack` or `refused`.
    case lookForItem
    /// It was removed meanwhile: delete the item, then send `takenBack` or `refused`.
    case withdrawItem
    /// Send `backoffOver` later, after this number of failed tries.
    case retryDelivery(tries: Int)
    /// It will be sent, at once or after the quiet time.
    case willRetry
    /// It no longer belongs to the outbox.
    case forgotten
    /// It expired untouched.
    case expired(Expiry)
}

/// The expiry of an untouched draft.
enum Expiry: Hashable, Sendable {
    /// Removed, because it is empty.
    case removal
    /// Moved to `.chatfs/recovered` and kept there.
    case recovery
}

/// The reason why an event changed nothing.
enum DraftRefusal: Error, Hashable, Sendable {
    /// The state does not allow the user's request.
    case notPermitted
    /// No driver may send this event in this state.
    case impossible
}
