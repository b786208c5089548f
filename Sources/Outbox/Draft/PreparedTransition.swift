/// A transition that is not yet performed. The draft's mutex is held.
struct PreparedTransition: Sendable {
    let draft: Draft
    let machine: DraftMachine
    let transition: DraftTransition

    var reply: DraftReply { transition.reply }
}
