"""The web application: pages, data and live updates of some studies, read only."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import get_args

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bhpt.charts.plain import plain
from bhpt.dashboard import assets, messages
from bhpt.dashboard.feed import Pace, Prediction, StudyFeed
from bhpt.dashboard.messages import Message, text_of
from bhpt.dashboard.security import Access, Guarded
from bhpt.domain import Misuse
from bhpt.study.csv_text import as_csv
from bhpt.study.tables import TableName, as_json, table

_POLL_S = 0.5  # between two looks at a study's log
_ALIVE_S = 15.0  # between two signs of life on a quiet stream
_SHARE = 0.1  # of the time may be spent on predictions


IsOver = Callable[[], bool]
"""Whether the server is about to stop: then streams end by themselves."""


@dataclass
class Channel:
    """One followed study and the pages that show it.

    Attributes:
        feed: The study.
        prediction: The latest one.
        trouble: Why the study cannot be read at the moment; empty if it can.
        news: Counts changes that pages should show.
        changed: Wakes the streams.
    """

    feed: StudyFeed
    prediction: Prediction | None = None
    trouble: str = ""
    news: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _reports: int = -1  # that the prediction was made from
    _pace: Pace = field(default_factory=lambda: Pace(_SHARE))

    async def follow(self) -> None:
        """Look at the study again and again, until cancelled.

        An error is sent to the pages before it ends this.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._keep_predicting())
                while True:
                    await self._poll()
                    await asyncio.sleep(_POLL_S)
        except BaseExceptionGroup as group:
            self.trouble = f"the dashboard has failed: {group.exceptions[0]!r}"
            await self._tell()
            raise

    async def _keep_predicting(self) -> None:
        """Predict whenever there is something new, as far as its share of the time allows."""
        while True:
            if self._is_stale():
                await self._predict()
            await asyncio.sleep(_POLL_S)

    async def wait(self, seen: int) -> None:
        """Wait for news, at most a moment, so that a closed stream is noticed soon."""
        async with self.changed:
            with suppress(TimeoutError):
                await asyncio.wait_for(
                    self.changed.wait_for(lambda: self.news != seen), timeout=_POLL_S
                )

    async def _poll(self) -> None:
        try:
            new = await run_in_threadpool(self.feed.poll)
            trouble = ""
        except Misuse as error:
            new, trouble = False, str(error)
        if new or trouble != self.trouble:
            self.trouble = trouble
            await self._tell()

    def _is_stale(self) -> bool:
        seen = self._reports == self.feed.scene.state.reports
        return self._pace.is_due() and not seen

    async def _predict(self) -> None:
        started = time.monotonic()
        reports = self.feed.scene.state.reports
        self.prediction = await run_in_threadpool(self.feed.predict)
        self._reports = reports
        self._pace.took(time.monotonic() - started)
        await self._tell()

    async def _tell(self) -> None:
        async with self.changed:
            self.news += 1
            self.changed.notify_all()


def make_app(
    feeds: Sequence[StudyFeed], access: Access, is_over: IsOver = lambda: False
) -> Starlette:
    """The application.

    Args:
        feeds: The studies to show.
        access: Who may look.
        is_over: Whether the server is about to stop.
    """
    channels = [Channel(feed) for feed in feeds]

    @asynccontextmanager
    async def following(_: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(channel.follow()) for channel in channels]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    return Starlette(
        routes=[
            Route("/", _page),
            Route("/static/{name}", _static),
            Route("/api/studies", partial(_studies, channels)),
            Route("/api/studies/{study:int}", partial(_answered, channels, _whole)),
            Route("/api/studies/{study:int}/stream", partial(_stream, channels, is_over)),
            Route("/api/studies/{study:int}/why/{attempt:int}", partial(_answered, channels, _why)),
            Route("/api/studies/{study:int}/parameters", partial(_answered, channels, _parameters)),
            Route("/api/studies/{study:int}/forecast", partial(_answered, channels, _forecast)),
            Route("/api/studies/{study:int}/{rows}.csv", partial(_csv, channels)),
            Route("/api/studies/{study:int}/study.json", partial(_file, channels)),
            Route("/api/compare", partial(_compare, channels)),
        ],
        middleware=[Middleware(Guarded, access=access)],
        exception_handlers={Misuse: _misused},
        lifespan=following,
    )


async def _page(_: Request) -> Response:
    return Response(assets.page(), media_type="text/html; charset=utf-8")


async def _static(request: Request) -> Response:
    found = assets.static(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    if request.headers.get("if-none-match") == found.digest:
        return Response(status_code=304)
    return Response(found.content, media_type=found.media_type, headers={"ETag": found.digest})


async def _studies(channels: list[Channel], _: Request) -> Response:
    """Which studies there are."""
    return _json(
        [
            {"id": place, "name": channel.feed.name, "address": str(channel.feed.address)}
            for place, channel in enumerate(channels)
        ]
    )


Answer = Callable[[Channel, Request], Message]


async def _answered(channels: list[Channel], answer: Answer, request: Request) -> Response:
    """What a function returns for the study in the path; it runs in a thread of its own."""
    return _json(await run_in_threadpool(answer, _channel(channels, request), request))


def _whole(channel: Channel, _: Request) -> Message:
    scene = channel.feed.scene
    found = channel.prediction
    predicted = None if found is None else messages.prediction(found, scene.state)
    return {**messages.whole(channel.feed, scene), "prediction": predicted}


def _why(channel: Channel, request: Request) -> Message:
    found: Message = plain(channel.feed.why(request.path_params["attempt"]))
    return found


def _parameters(channel: Channel, _: Request) -> Message:
    found: Message = plain(channel.feed.parameters())
    return found


def _forecast(channel: Channel, _: Request) -> Message:
    return messages.forecast(channel.feed)


async def _csv(channels: list[Channel], request: Request) -> Response:
    """One of the tables of a study, to keep."""
    channel, rows = _channel(channels, request), request.path_params["rows"]
    if rows not in get_args(TableName):
        raise HTTPException(404)
    state = channel.feed.scene.state
    text = await run_in_threadpool(lambda: as_csv(table(state, rows)))
    return _download(text, "text/csv; charset=utf-8", f"{rows}.csv")


async def _file(channels: list[Channel], request: Request) -> Response:
    """All of a study as JSON, to keep."""
    state = _channel(channels, request).feed.scene.state
    text = await run_in_threadpool(lambda: text_of(as_json(state)))
    return _download(text, "application/json", "study.json")


def _download(text: str, media_type: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=media_type, headers=headers)


async def _compare(channels: list[Channel], _: Request) -> Response:
    """How the best of every study fell, as parts of the budgets."""
    scenes = [(channel.feed, channel.feed.scene) for channel in channels]
    return _json(await run_in_threadpool(messages.compared, scenes))


async def _stream(channels: list[Channel], is_over: IsOver, request: Request) -> Response:
    """Live updates as server-sent events: all of the study first, then what changes."""
    channel = _channel(channels, request)
    return StreamingResponse(
        _events(channel, is_over),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


async def _events(channel: Channel, is_over: IsOver) -> AsyncIterator[str]:
    scene = channel.feed.scene
    yield _event("whole", await run_in_threadpool(messages.whole, channel.feed, scene))
    sent: Prediction | None = None
    trouble, sent_at = "", time.monotonic()
    while not is_over():
        news = channel.news
        texts = []
        if channel.feed.scene is not scene:
            before, scene = scene, channel.feed.scene
            change = await run_in_threadpool(messages.change, before.state, scene)
            texts.append(_event("change", change))
        if channel.prediction is not None and channel.prediction is not sent:
            sent = channel.prediction
            texts.append(_event("prediction", messages.prediction(sent, scene.state)))
        if channel.trouble != trouble:
            trouble = channel.trouble
            texts.append(_event("trouble", {"text": trouble}))
        if not texts and time.monotonic() - sent_at > _ALIVE_S:
            texts.append(": alive\n\n")
        if texts:
            sent_at = time.monotonic()
            yield "".join(texts)
        await channel.wait(news)


def _event(name: str, message: Message) -> str:
    return f"event: {name}\ndata: {text_of(message)}\n\n"


def _channel(channels: list[Channel], request: Request) -> Channel:
    number = request.path_params["study"]
    if not 0 <= number < len(channels):
        raise HTTPException(404)
    found: Channel = channels[number]
    return found


def _json(message: object, status: int = 200) -> Response:
    return Response(text_of(message), status, media_type="application/json")


async def _misused(_: Request, error: Exception) -> Response:
    """The answer to a request that cannot be met, in one line."""
    return _json({"error": str(error)}, 422)
