/** A host that may not be reached. */
export type RefusedHost = {
  kind: 'refused'
  message: string
  /** The same without the address that a name resolved to: it says something about the network of Gantry. */
  discreetMessage: string
}

/** `name` is what was asked for, `address` what it resolved to: the same when it is an address. */
export function refuseHost(name: string, address: string, why: string): RefusedHost {
  const message = address === name ? `${name} ${why}` : `${name} (${address}) ${why}`
  return { kind: 'refused', message, discreetMessage: `${name} ${why}` }
}

/** A verdict for the eyes of this caller: only instance administrators learn what names resolve to. */
export function shownTo<Verdict extends { kind: string }>(
  caller: { is_instance_admin: boolean },
  verdict: Verdict | RefusedHost,
): Verdict | RefusedHost {
  if (caller.is_instance_admin || !isRefused(verdict)) return verdict
  return { ...verdict, message: verdict.discreetMessage }
}

function isRefused(verdict: { kind: string }): verdict is RefusedHost {
  return verdict.kind === 'refused'
}
