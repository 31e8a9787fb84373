// To know which test an error or a nested test belongs to, Node's test runner has an async hook that follows every
// promise until it is collected: a seventh of the CPU time of tests that mostly wait for a database. With this file
// loaded before node:test, an AsyncLocalStorage tells the same for nearly nothing.
import { createRequire } from 'node:module'

const hooks: typeof import('node:async_hooks') = createRequire(import.meta.url)('node:async_hooks')
const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } = hooks

type Init = (asyncId: number, type: string, triggerAsyncId: number, resource: object) => void

/** The id of the test whose code runs. */
const running = new AsyncLocalStorage<number>()
let init: Init | undefined

/** What tests, suites and their hooks are to the runner. */
class TestResource extends AsyncResource {
  constructor(...args: ConstructorParameters<typeof AsyncResource>) {
    super(...args)
    init?.(this.asyncId(), 'Test', executionAsyncId(), this)
  }

  override runInAsyncScope<This, Result>(
    run: (this: This, ...args: unknown[]) => Result,
    self?: This,
    ...args: unknown[]
  ): Result {
    return super.runInAsyncScope(() => running.run(this.asyncId(), () => run.apply(self as This, args)))
  }
}

const inert = { enable: () => inert, disable: () => inert }

Object.assign(hooks, {
  AsyncResource: TestResource,
  createHook: (callbacks: { init: Init }) => {
    init = callbacks.init
    return inert
  },
  executionAsyncId: () => running.getStore() ?? executionAsyncId(),
})
await import('node:test')
Object.assign(hooks, { AsyncResource, createHook, executionAsyncId })
