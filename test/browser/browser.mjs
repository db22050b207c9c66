// Does in a Chromium what it reads from standard input, a JSON object a line, and answers each with one: {"value": ...} or
// {"error": "..."}. CHROMIUM is the browser. Its locators are those of Playwright.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { chromium } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] })
let page, complaints

const commands = {
  /** Opens a new tab, which knows nothing of the one before. */
  async open({ url, width, height, dark }) {
    await page?.context().close()
    const context = await browser.newContext({
      viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce', bypassCSP: false,
    })
    page = await context.newPage()
    complaints = []
    page.on('console', message => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', error => complaints.push(String(error)))
    await page.goto(url)
  },
  /** Opens one more tab in the same browser; the commands after this are for it. */
  async another({ url }) {
    page = await page.context().newPage()
    await page.goto(url)
  },
  /** What is in all tabs. */
  everywhere: ({ selector }) => Promise.all(page.context().pages().map(p => p.locator(selector).first().waitFor({ state: 'visible' }))),
  click: ({ selector }) => page.locator(selector).first().click(),
  fill: ({ selector, text }) => page.locator(selector).first().fill(text),
  press: ({ text }) => page.keyboard.press(text),
  text: ({ selector }) => page.locator(selector).first().innerText(),
  count: ({ selector }) => page.locator(selector).count(),
  visible: ({ selector }) => page.locator(selector).first().waitFor({ state: 'visible' }),
  evaluate: ({ text }) => page.evaluate(text),
  picture: ({ path }) => page.screenshot({ path, animations: 'disabled' }),
  /** What the browser has complained about since the tab was opened. */
  complaints: () => complaints,
  /** The rules of WCAG 2.2 AA that the page breaks. The page's policy of contents lets no other script in, so it comes from the debugger. */
  async accessibility() {
    const session = await page.context().newCDPSession(page)
    await session.send('Runtime.evaluate', { expression: axe })
    const { result } = await session.send('Runtime.evaluate', {
      expression: `axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }).then(found => JSON.stringify(
        found.violations.map(v => v.id + ': ' + v.help + ' (' + v.nodes.map(n => n.target.join(' ')).slice(0, 3).join(', ') + ')')))`,
      awaitPromise: true,
    })
    return JSON.parse(result.value)
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...rest } = JSON.parse(line)
  try {
    const value = await commands[command](rest)
    console.log(JSON.stringify({ value: value ?? null }))
  } catch (error) {
    console.log(JSON.stringify({ error: String(error.message ?? error) }))
  }
}
await browser.close()
