// What a person does with the console, in Debian's Chromium.  Prints a line
// of TAP (without number) for each thing that is checked.
import { chromium } from 'playwright-core';

const { BASE, PASSWORD, SHOTS, PROFILE } = process.env;
const patience = Number(process.env.PATIENCE) * 1000;

const check = (good, sentence, found) => {
  console.log(`${good ? 'ok' : 'not ok'} - ${sentence}`);
  if (!good && found !== undefined)
    console.log(`found: ${JSON.stringify(found)}`);
};

const context = await chromium.launchPersistentContext(PROFILE, {
  executablePath: '/usr/bin/chromium',
  viewport: { width: 1280, height: 800 },
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update',
    '--disable-sync'],
});
const page = context.pages()[0];
page.setDefaultTimeout(patience);

// nothing may be blocked, missing or fetched from elsewhere
const troubles = [];
page.on('console', m => troubles.push(m.text()));
page.on('pageerror', e => troubles.push(String(e)));
page.on('requestfailed', r => troubles.push(`failed: ${r.url()}`));
page.on('response', r => {
  if (r.status() >= 400)
    troubles.push(`${r.status()}: ${r.url()}`);
});
page.on('request', r => {
  if (!r.url().startsWith(BASE))
    troubles.push(`elsewhere: ${r.url()}`);
});

const row = host => page.locator('tr', { has: page.getByRole('rowheader',
  { name: host, exact: true }) });
const state = host => row(host).locator('.state').innerText();
const box = page.getByLabel('PerfSpect HW Metrics');
const shot = name => page.screenshot({ path: `${SHOTS}/${name}.png`,
  fullPage: true });
// a button as it is drawn: numbers that the style sheet counts are nowhere
// else
const drawn = name => page.locator(`button.${name}`).screenshot();

// presses Refresh until the host's state is one of those
const until = async (host, states) => {
  const end = Date.now() + patience;
  let found = await state(host);
  while (!states.includes(found) && Date.now() < end) {
    const loaded = page.waitForEvent('load');
    await page.getByRole('link', { name: 'Refresh' }).click();
    await loaded;
    found = await state(host);
  }
  return found;
};

// --- logging in -----------------------------------------------------------
await page.goto(`${BASE}/`);
check(page.url().endsWith('/login'), 'a stranger is asked to log in',
  page.url());
await shot('login');
await page.getByLabel('User').fill('admin');
await page.getByLabel('Password').fill(PASSWORD);
await page.getByRole('button', { name: 'Log in' }).click();
await page.getByRole('heading', { name: 'Hosts' }).waitFor();
check(true, 'the right password leads to the hosts');
const cookie = (await context.cookies())[0];
check(cookie.httpOnly && cookie.sameSite === 'Strict',
  'no script and no other site gets the cookie', cookie);

// --- the panel ------------------------------------------------------------
const tip = page.getByRole('tooltip');
check(!await tip.isVisible(), 'the tooltip is out of the way');
await page.locator('.tip').focus();
check(await tip.isVisible(), 'and shown on focus');
check((await tip.innerText()).includes('hardware metrics collection'),
  'it says what PerfSpect HW Metrics does');
await page.locator('.tip').blur();
const startAtNone = await drawn('start'), stopAtNone = await drawn('stop');
await row('good-host').getByRole('checkbox').check();
const startAtOne = await drawn('start');
await row('bad-host').getByRole('checkbox').check();
const startAtTwo = await drawn('start');
check(!startAtNone.equals(startAtOne) && !startAtOne.equals(startAtTwo),
  'Start shows how many hosts are selected');
check(stopAtNone.equals(await drawn('stop')),
  'Stop does not count what has nothing to stop');
await box.check();
await page.getByLabel('Duration').fill('5');
await shot('hosts-selected');

// --- what hosts can measure -----------------------------------------------
const summary = host => row(host).locator('summary');
for (const [host, says, tone] of [
  ['ready-host', 'ready', 'ok'],
  ['virtual-host', 'no PMU: <b>the hypervisor</b> does not pass counters on',
    'lacking'],
  ['warned-host', '400 MiB are free in /tmp', 'warning'],
  ['broken-host', 'gprofiler is not in PATH: see --gprofiler-path',
    'problem']]) {
  const found = [await summary(host).innerText(),
    await summary(host).getAttribute('class')];
  check(found[0] === says && found[1] === tone, `${host} is ${tone}`, found);
}
// what the real agents found depends on the machine
const tick = (host, on) => row(host).getByRole('checkbox').setChecked(on);
await tick('good-host', false);
await tick('bad-host', false);
await tick('ready-host', true);
const lacking = page.locator('.perfspect .lacking');
check(!await lacking.isVisible(), 'nothing is said where all can measure');
await tick('virtual-host', true);
check(await lacking.isVisible(),
  'before Start it is said that a selected host cannot');
const items = row('virtual-host').locator('li');
check(!await items.first().isVisible(), 'the findings are folded');
await summary('virtual-host').click();
check((await items.allInnerTexts()).join('|') === 'root runs as root|' +
  'pmu no PMU: <b>the hypervisor</b> does not pass counters on|' +
  'nmi_watchdog kernel.nmi_watchdog is 1, which takes a counter',
  'and unfold without a script', await items.allInnerTexts());
await shot('hosts-lacking');
await box.uncheck();
check(!await lacking.isVisible(), 'without PerfSpect it does not matter');
await box.check();
await tick('virtual-host', false);
check(!await lacking.isVisible(), 'nor when it is not selected');
await tick('ready-host', false);
await tick('good-host', true);
await tick('bad-host', true);

// --- Start ----------------------------------------------------------------
await page.getByRole('button', { name: 'Start' }).click();
const notice = page.getByRole('status');
await notice.waitFor();
check((await notice.innerText()).startsWith(
  'Start requested for 2 hosts of service e2e, with PerfSpect HW metrics'),
  'the page says what was done', await notice.innerText());
check(!await box.isChecked(), 'the PerfSpect box is off again');
check(!await row('good-host').getByRole('checkbox').isChecked(),
  'and no host is selected');
const began = await state('good-host');
check(began !== 'idle', 'the row has changed', began);
await row('good-host').getByRole('checkbox').check();
check(!stopAtNone.equals(await drawn('stop')),
  'Stop counts a host that has something to stop');
const good = await until('good-host', ['completed', 'failed', 'stopped']);
check(good === 'completed', 'the run completes', good);
check(/^[5-9]\d* s|^[1-9]\d+ s/.test(
  await row('good-host').locator('.seconds').innerText()),
  'with its seconds');
const bad = await until('bad-host', ['completed', 'failed', 'stopped']);
check(bad === 'failed', 'the other one fails', bad);
check((await row('bad-host').innerText()).includes(
  `${BASE}/dist/nothing.tgz`), 'and the row says why',
  await row('bad-host').innerText());

// --- how it looks ---------------------------------------------------------
for (const scheme of ['light', 'dark'])
  for (const [name, width] of [['wide', 1280], ['narrow', 390]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 800 });
    await shot(`hosts-${scheme}-${name}`);
    const over = await page.evaluate(
      () => document.documentElement.scrollWidth - innerWidth);
    check(over <= 0, `nothing sticks out: ${scheme}, ${name}`, over);
  }

// --- a start that not all can follow --------------------------------------
await page.setViewportSize({ width: 1280, height: 800 });
await row('virtual-host').getByRole('checkbox').check();
await row('ready-host').getByRole('checkbox').check();
await box.check();
await page.getByRole('button', { name: 'Start' }).click();
await notice.waitFor();
check((await notice.innerText()).includes('1 of them cannot have HW metrics:' +
  ' no PMU: <b>the hypervisor</b> does not pass counters on.'),
  'the answer says for how many it is in vain, and why',
  await notice.innerText());
await shot('hosts-start-lacking');

// --- and out --------------------------------------------------------------
await page.getByRole('button', { name: 'Log out' }).click();
await page.getByRole('heading', { name: 'Log in' }).waitFor();
await page.goto(`${BASE}/`);
check(page.url().endsWith('/login'), 'logged out is logged out', page.url());
check(troubles.length === 0, 'the browser has nothing to complain of',
  troubles);
await context.close();
